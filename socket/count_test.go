package socket_test

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// tally has the counts of each Processor and, last, those of goroutines.
type tally []processor.IOSnapshot

func counted(t testing.TB) (all tally) {
	t.Helper()
	s := testenv.Must(netco.Default())
	for _, p := range engine.Of(s).Processors() {
		all = append(all, p.IO().Snapshot())
	}
	return append(all, processor.GoroutineIO())
}

// each does something to each number of two snapshots.
func each(a, b *processor.IOSnapshot, f func(a, b *uint64)) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		switch p := x.Field(i).Addr().Interface().(type) {
		case *uint64:
			f(p, y.Field(i).Addr().Interface().(*uint64))
		case *[processor.AcceptErrorKinds]uint64:
			for k := range p {
				f(&p[k], &y.Field(i).Addr().Interface().(*[processor.AcceptErrorKinds]uint64)[k])
			}
		default:
			panic("what is a " + x.Type().Field(i).Name + "?")
		}
	}
}

// since returns the counts since ta, and their sum.
func (ta tally) since(t testing.TB) (d tally, sum processor.IOSnapshot) {
	t.Helper()
	d = counted(t)
	for i := range d {
		each(&d[i], &ta[i], func(a, b *uint64) { *a -= *b })
		each(&sum, &d[i], func(a, b *uint64) { *a += *b })
	}
	return d, sum
}

// readOps and writeOps are calls of each sort.
var (
	readOps  = []sysx.Op{sysx.Recv, sysx.FileRead, sysx.SpliceIn}
	writeOps = []sysx.Op{sysx.Send, sysx.Sendv, sysx.FileWrite, sysx.SpliceOut, sysx.Sendfile}
)

// check compares the counts with the calls that s has seen, each of them once
// however often it was interrupted, and with the bytes moved.
func check(t *testing.T, got processor.IOSnapshot, s *script, in, out int) {
	t.Helper()
	made := func(ops ...sysx.Op) uint64 {
		return s.called.sum(ops...) - s.interrupted.sum(ops...)
	}
	testenv.Equal(t, [3]uint64{got.Reads, got.Writes, got.Accepts},
		[3]uint64{made(readOps...), made(writeOps...), made(sysx.Accept)},
		"reads, writes, accepts;", &s.called)
	testenv.Equal(t, [2]uint64{got.BytesIn, got.BytesOut}, [2]uint64{uint64(in), uint64(out)},
		"bytes in and out")
	testenv.True(t, got.ReadAgain <= got.Reads && got.WriteAgain <= got.Writes &&
		got.AcceptAgain+got.Accepted <= got.Accepts, "more in vain than made: %+v", got)
	testenv.True(t, got.ReadAgain >= s.denied.sum(readOps...) &&
		got.WriteAgain >= s.denied.sum(writeOps...), "less in vain than made up: %+v", got)
	testenv.True(t, got.SavedReads <= got.Reads-got.ReadAgain,
		"%d reads saved, each by a short one, of which there were %d at most", got.SavedReads,
		got.Reads-got.ReadAgain)
}

// udpTo returns a UDP socket and one that is connected to it.
func udpTo(t *testing.T) (l, c *socket.UDPConn) {
	t.Helper()
	l = testenv.Closing(t, testenv.Must(conet.ListenUDP("udp4", loopback4)))
	return l, testenv.Closing(t, testenv.Must(conet.DialUDP("udp4", nil, udpAddr(l))))
}

// socketPair returns two connected Sockets of the Unix family.
func socketPair(t testing.TB, typ int) (a, b *socket.Socket) {
	t.Helper()
	fds := testenv.Must(unix.Socketpair(unix.AF_UNIX, typ|unix.SOCK_CLOEXEC, 0))
	a = testenv.Closing(t, testenv.Must(socket.AdoptSocket(fds[0])))
	return a, testenv.Closing(t, testenv.Must(socket.AdoptSocket(fds[1])))
}

// counts is the index of what counts a place: of its Processor, or of those for
// goroutines.
func counts(p testrun.Place) int {
	return slices.IndexFunc(testrun.Places, func(q testrun.Place) bool { return p.Name == q.Name })
}

// TestCountsErrors: a call that fails is counted, without bytes.
func TestCountsErrors(t *testing.T) {
	start(t, 1)
	a, b := pair(t)
	before := counted(t)
	s := script{first: errnos{sysx.Recv: {unix.ECONNRESET},
		sysx.Send: {unix.EPIPE}, sysx.Sendv: {unix.ENOBUFS}}}
	remove := s.install(t)
	testrun.First.Do(t, func() {
		a.Write([]byte("lost"))
		v := socket.Buffers{[]byte("lost"), []byte("too")}
		v.WriteTo(a)
		b.Read(make([]byte, 10))
	})
	remove()
	_, g := before.since(t)
	testenv.Equal(t, g, processor.IOSnapshot{Reads: 1, Writes: 2})
}

// savedReadsCases are the cases of TestSavedReads.
var savedReadsCases = []struct {
	name  string
	saves bool // all of them
	read  func(c *socket.TCPConn, b *socket.Buffered) error
}{
	{"read", true, func(c *socket.TCPConn, _ *socket.Buffered) error {
		return testenv.Err(c.Read(make([]byte, 10)))
	}},
	{"read of no more than there is", false, func(c *socket.TCPConn, _ *socket.Buffered) error {
		return testenv.Err(c.Read(make([]byte, 1)))
	}},
	{"wait and read", true, func(c *socket.TCPConn, _ *socket.Buffered) error {
		return errors.Join(c.WaitReadable(), testenv.Err(c.Read(make([]byte, 10))))
	}},
	{"Buffered", true, func(_ *socket.TCPConn, b *socket.Buffered) error {
		return testenv.Err(b.ReadByte())
	}},
	{"Buffered with room for one", false, func(_ *socket.TCPConn, b *socket.Buffered) error {
		return testenv.Err(b.Read(make([]byte, 1)))
	}},
}

// TestSavedReads: a reader that waits for each request makes one read for each
// but the first. The read that would have shown that there is no more is saved,
// and counted as saved, in every way to wait.
func TestSavedReads(t *testing.T) {
	const rounds = 200
	for _, c := range savedReadsCases {
		t.Run(c.name, func(t *testing.T) {
			start(t, 2)
			a, peer := withPeer(t)
			b := socket.NewBuffered(a)
			before := counted(t)
			var begun atomic.Int32
			k := testrun.Second.Go(func() {
				for range rounds {
					begun.Add(1)
					testenv.NoError(t, c.read(a, b))
				}
			})
			for i := range rounds {
				testenv.Until(t, "the reader to wait", func() bool {
					return int(begun.Load()) == i+1 && k.Parked(coroutine.ReasonRead)
				})
				writeAll(t, peer, []byte("x"))
			}
			k.Wait(t)
			got, _ := before.since(t)
			g := got[1]
			testenv.Equal(t, g.Reads-g.ReadAgain, rounds, "reads that found something")
			testenv.Equal(t, g.BytesIn, rounds, "bytes")
			// Each wait began with a saved read or with a second one.
			testenv.True(t, g.SavedReads+g.ReadAgain >= rounds-1 && g.SavedReads <= rounds,
				"%d waits: %d reads in vain, %d saved", rounds, g.ReadAgain, g.SavedReads)
			testenv.True(t, !c.saves || g.ReadAgain <= 1,
				"%d reads in vain, of which all but the first could be saved", g.ReadAgain)
		})
	}
}

// TestSavedReadsOfServers: an idle connection of a Server waits without a read
// in vain, too.
func TestSavedReadsOfServers(t *testing.T) {
	start(t, 1)
	address, _ := serving(t, &socket.Server{Handle: echoOnce})
	c := dialNet(t, address)
	begin := counted(t)
	exchange(t, c, "first")
	idleAfter(t, begin, len("first"))
	before := counted(t)
	var calls script
	defer calls.install(t)()
	const rounds = 100
	for range rounds {
		exchange(t, c, "hello")
	}
	g := idleAfter(t, before, rounds*5)
	calls.called[sysx.Accept].Store(0)
	check(t, g, &calls, rounds*5, rounds*5)
	testenv.True(t, g.Reads == rounds && g.SavedReads >= rounds-1,
		"%d requests took %d reads and saved %d", rounds, g.Reads, g.SavedReads)
}

// idleAfter waits until the one connection that the only Processor has is idle,
// after so many bytes out, and returns what was counted.
func idleAfter(t *testing.T, before tally, out int) (g processor.IOSnapshot) {
	t.Helper()
	s := testenv.Must(netco.Default())
	testenv.Until(t, "idleness", func() bool {
		_, g = before.since(t)
		return g.BytesOut >= uint64(out) && engine.Of(s).Processors()[0].Watches() == 1
	})
	_, g = before.since(t)
	g.Accepts, g.Accepted, g.AcceptAgain = 0, 0, 0 // accepts come before or after
	return g
}

// TestCountsPoll: a Server whose Handle reads no more than it needs makes the
// connection ask poll(2) whether there is more. That is no read.
func TestCountsPoll(t *testing.T) {
	start(t, 1)
	address, _ := serving(t, &socket.Server{Handle: func(c *socket.ServerConn) error {
		return answer(c, 1)
	}})
	c := dialNet(t, address)
	untilRest(t, 1) // it has been accepted, and looked at once
	before := counted(t)
	var calls script
	remove := calls.install(t)
	const text = "twenty bytes of text"
	exchange(t, c, text)
	g := idleAfter(t, before, len(text))
	remove()
	calls.called[sysx.Accept].Store(0)
	check(t, g, &calls, len(text), len(text))
	if polls := calls.called[sysx.PollFDs].Load(); g.Reads != uint64(len(text)) ||
		polls < int64(len(text)) || g.SavedReads != 0 {
		t.Errorf("%d reads, %d polls, %d saved; want a read and a poll for each of %d bytes",
			g.Reads, polls, g.SavedReads, len(text))
	}
}

// TestCountsAccepts: accepts are counted by how they end, and the log says that
// accepting pauses and goes on.
func TestCountsAccepts(t *testing.T) {
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		core, logs := observer.New(zapcore.InfoLevel)
		startWith(t, netco.Options{Processors: 2, Logger: zap.New(core)})
		l := listen(t)
		before := counted(t)
		s := script{first: errnos{sysx.Accept: {unix.EINTR, unix.EAGAIN,
			unix.ECONNABORTED, unix.EMFILE, unix.EPROTO, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM}}}
		defer s.install(t)()
		for range 3 {
			dialNet(t, l.Addr().String())
		}
		p.Do(t, func() {
			for range 3 {
				testenv.NoError(t, shut(l.Accept()))
			}
		})
		got, _ := before.since(t)
		g := got[counts(p)]
		testenv.True(t, g.Accepts == uint64(s.called[sysx.Accept].Load())-1 && g.Accepted == 3 &&
			g.AcceptAgain >= 1, "%d accepts counted of %d, %d accepted, %d in vain", g.Accepts,
			s.called[sysx.Accept].Load(), g.Accepted, g.AcceptAgain)
		want := [processor.AcceptErrorKinds]uint64{processor.AcceptConnection: 2,
			processor.AcceptFiles: 2, processor.AcceptMemory: 2}
		testenv.Equal(t, g.AcceptErrors, want, "errors")
		var logged []string
		for _, e := range logs.Filter(func(e observer.LoggedEntry) bool {
			return strings.HasPrefix(e.Message, "accepting")
		}).All() {
			logged = append(logged, e.Message)
			m := e.ContextMap()
			testenv.True(t, m["listener"] == l.Addr().String() &&
				(p.Name == testrun.Goroutine.Name) == (m["processor"] == nil),
				"%s: of which listener and Processor? %v", e.Message, m)
		}
		testenv.Equal(t, strings.Join(slices.Compact(logged), ", "),
			"accepting pauses, accepting goes on", "logged")
	})
}

// TestSavedOnce: a short read saves one read, however many waits follow it.
func TestSavedOnce(t *testing.T) {
	start(t, 1)
	a, b := pair(t)
	before := counted(t)
	testrun.First.Do(t, func() {
		a.Write([]byte("x"))
		b.Read(make([]byte, 10))
	})
	for range 3 {
		k := testrun.First.Park(t, coroutine.ReasonRead, func() {
			testenv.Fails(t, testenv.Err(b.Read(make([]byte, 10))), os.ErrDeadlineExceeded)
		})
		b.SetReadDeadline(past)
		k.Wait(t)
		b.SetReadDeadline(time.Time{})
	}
	_, g := before.since(t)
	testenv.Equal(t, g.SavedReads, 1)
	testenv.Equal(t, g.Reads-g.ReadAgain, 1)
}
