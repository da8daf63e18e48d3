package socket_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// diffRun is one sequence of operations. Nothing in it depends on luck: before
// each step all that the last one set in motion has arrived, at both ends of
// both connections, and a step is chosen by that state so that what it returns
// is determined. Where one end waits while another acts, what comes of it is
// the same whether the wait had begun or not; what the kernel alone decides,
// how much fits into its buffers, is not compared but read back by the peer to
// the byte.
type diffRun struct {
	t            testing.TB
	unix         bool
	theirs, ours *diffWorld
	ends         [2]diffModel
	trace        []string
	failed       bool
}

// diffModel is what is known of an end, the same in both worlds.
type diffModel struct {
	closed     bool
	noReads    bool // after CloseRead
	noWrites   bool // after CloseWrite
	dead       bool // reset, or ended from both sides: the kernel says POLLHUP
	drops      bool // SetLinger(0)
	unread     int  // bytes that have arrived
	readLimit  diffLimit
	writeLimit diffLimit
}

// diffLimit is the deadline an end has.
type diffLimit byte

const (
	limitNone diffLimit = iota
	limitFar
	limitPast
)

// diffOp is one operation, as three bytes of a sequence give it.
type diffOp struct{ code, arg, how byte }

func (o diffOp) end() int             { return int(o.how & 1) }
func (o diffOp) place() testrun.Place { return testrun.Places[int(o.how>>1)%len(testrun.Places)] }

// variant is one of n.
func (o diffOp) variant(n int) int { return int(o.how>>3) % n }

// size is a small number of bytes: what a few of them wait unread always has
// room.
func (o diffOp) size() int {
	if o.arg < 128 {
		return int(o.arg) % 24
	}
	return (int(o.arg) - 127) * 32
}

// maxUnread is how many bytes an end lets wait.
const maxUnread = 8 << 10

// runDiff runs a sequence: a byte for the network, then three for each
// operation.
func runDiff(t testing.TB, data []byte) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	d := &diffRun{t: t, unix: data[0]%2 == 1}
	network := "tcp"
	if d.unix {
		network = "unix"
	}
	d.theirs, d.ours = newDiffWorlds(t, network)
	over := false
	defer func() {
		d.theirs.close()
		d.ours.close()
		if d.failed || !over {
			t.Logf("the sequence is []byte(%q):\n%s%s", data, network, strings.Join(d.trace, ""))
		}
	}()
	d.ownBuffers()
	for at := 1; at+2 < len(data) && !d.failed && !(d.ends[0].closed && d.ends[1].closed); at += 3 {
		d.operate(diffOp{data[at], data[at+1], data[at+2]})
		d.settle()
	}
	for e := range d.ends { // and the same once more, to see each operation on what is closed
		if d.failed {
			break
		}
		d.closeEnd(diffOp{how: byte(e)}, e)
		d.settle()
		d.compareAfterClose(e)
	}
	over = true
}

// ownBuffers compares what both packages set on a new connection.
func (d *diffRun) ownBuffers() {
	for e := range d.ends {
		d.step(fmt.Sprintf("options of %d", e), func(w *diffWorld) string { return w.options(e) })
	}
}

// step does one thing in both worlds and compares what they report of it.
func (d *diffRun) step(what string, do func(w *diffWorld) string) {
	d.t.Helper()
	if d.failed {
		return
	}
	d.trace = append(d.trace, "\n\t"+what)
	want := do(d.theirs)
	d.trace = append(d.trace, ": "+want)
	if got := do(d.ours); got != want {
		d.failed = true
		d.t.Errorf("%s:\nnetco %s\nnet   %s", what, got, want)
	}
}

// act is step for an operation in its place.
func (d *diffRun) act(o diffOp, what string, do func(w *diffWorld) string) {
	d.t.Helper()
	d.step(what, func(w *diffWorld) (text string) {
		w.do(o.place(), func() { text = do(w) })
		return text
	})
}

// settle waits until what is under way between the ends has arrived, then
// compares what the kernel says of them.
func (d *diffRun) settle() {
	d.t.Helper()
	if d.failed {
		return
	}
	for e, m := range d.ends {
		if m.closed {
			continue
		}
		for _, w := range []*diffWorld{d.theirs, d.ours} {
			var k kernel
			end := time.Now().Add(limit)
			for k = w.ask(e); !d.arrived(e, k); k = w.ask(e) {
				if time.Now().After(end) {
					d.failed = true
					d.t.Errorf("%s: end %d has %v, which does not become %+v", w.name, e, k, m)
					return
				}
			}
		}
	}
	for e, m := range d.ends {
		if m.closed {
			continue
		}
		if got, want := d.ours.ask(e), d.theirs.ask(e); got != want {
			d.failed = true
			d.t.Errorf("the kernel tells of end %d:\nnetco %v\nnet   %v", e, got, want)
		}
	}
}

// arrived reports whether an end has got what was sent to it.
func (d *diffRun) arrived(e int, k kernel) bool {
	m, peer := d.ends[e], d.ends[1-e]
	switch {
	case k.queued != m.unread:
		return false
	case d.unix:
		return true // nothing is ever under way
	case m.dead:
		return k.events&unix.POLLHUP != 0
	case peer.closed || peer.noWrites:
		return k.events&unix.POLLRDHUP != 0
	case m.noWrites:
		return true
	}
	return k.events&unix.POLLOUT != 0 // all but a little has been acknowledged
}

// These keep the model.

// wrote is that an end has written n bytes.
func (d *diffRun) wrote(e, n int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	switch {
	case n == 0 || m.dead:
	case peer.closed:
		m.dead = true // the kernel answers with a reset
	case !d.unix && peer.noReads && peer.noWrites:
		m.dead, peer.dead = true, true // so it does here
	default:
		peer.unread += n
	}
}

// ended is that an end's CloseWrite has succeeded.
func (d *diffRun) ended(e int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	m.noWrites = true
	if peer.noWrites && !d.unix || peer.closed {
		m.dead, peer.dead = true, true
	}
}

// gone is that an end was closed.
func (d *diffRun) gone(e int) {
	m, peer := &d.ends[e], &d.ends[1-e]
	if m.closed {
		return
	}
	m.closed = true
	if d.unix || m.drops || m.unread > 0 || peer.noWrites {
		peer.dead = true
	}
}

// waits reports whether a read of an end that finds nothing would wait.
func (d *diffRun) waits(e int) bool {
	m := &d.ends[e]
	return !m.closed && m.readLimit != limitPast && !d.theirs.ask(e).readable()
}

// writes reports whether an end's writes succeed.
func (d *diffRun) writes(e int) bool {
	m, peer := &d.ends[e], &d.ends[1-e]
	return !m.closed && !m.noWrites && !m.dead && m.writeLimit != limitPast && !peer.closed &&
		!peer.noReads
}

// diffSeed is where the random sequences come from; NETCO_SEED repeats a run.
func diffSeed(t testing.TB) uint64 {
	n := rand.Uint64()
	if s := os.Getenv("NETCO_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with NETCO_SEED=%d", n)
	return n
}

// TestDifferential: random sequences of operations come out as package net's
// do, over TCP and Unix sockets, from all places.
func TestDifferential(t *testing.T) {
	sequences, most := testenv.Rounds(600), 5*time.Second
	seed := diffSeed(t)
	start(t, 2)
	began := time.Now()
	for i := range sequences {
		if time.Since(began) > most && i >= sequences/10 {
			t.Logf("%d sequences", i)
			break
		}
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		data := make([]byte, 1+3*(5+rnd.IntN(35)))
		for j := range data {
			data[j] = byte(rnd.Uint32())
		}
		if runDiff(t, data); t.Failed() {
			t.Fatalf("sequence %d of NETCO_SEED=%d", i, seed)
		}
		if n := socket.OpenCount(); n != 0 {
			t.Fatalf("%d sockets open after sequence %d", n, i)
		}
	}
}

// FuzzDifferential is TestDifferential with sequences that the fuzzer finds.
func FuzzDifferential(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		start(t, 2)
		runDiff(t, data[:min(len(data), 1+3*100)])
	})
}

// A differential run does the same operations to two connections, one of
// package net and one of this package, and compares what each operation
// returned and what the kernel then says of the connection.

// diffEnd is what the stream connections of both packages have.
type diffEnd interface {
	net.Conn
	syscall.Conn
	CloseRead() error
	CloseWrite() error
	File() (*os.File, error)
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// diffTCP is what those over TCP have besides.
type diffTCP interface {
	SetLinger(sec int) error
	SetNoDelay(noDelay bool) error
	SetKeepAlive(keepAlive bool) error
	SetKeepAlivePeriod(d time.Duration) error
	SetKeepAliveConfig(config net.KeepAliveConfig) error
}

// diffWorld is one connection, both of its ends.
type diffWorld struct {
	t    testing.TB
	name string
	ours bool
	ends [2]diffEnd
	fds  [2]int            // not to be used once the end is closed
	hide *strings.Replacer // what differs from one connection to the next

	sent [2]int          // where each end's writer is in its stream
	got  [2]atomic.Int64 // where its reader is
}

// diffBuffer is the size of the kernel's buffers, so that filling them takes
// little.
const diffBuffer = 64 << 10

// newDiffWorlds makes a connection of each package.
func newDiffWorlds(t testing.TB, network string) (theirs, ours *diffWorld) {
	t.Helper()
	theirs, ours = &diffWorld{t: t, name: "net"}, &diffWorld{t: t, name: "netco", ours: true}
	for _, w := range []*diffWorld{theirs, ours} {
		if err := w.connect(network); err != nil {
			w.close()
			theirs.close()
			t.Fatal(err)
		}
	}
	return theirs, ours
}

func (w *diffWorld) close() {
	for _, c := range w.ends {
		if c != nil {
			c.Close()
		}
	}
}

func (w *diffWorld) connect(network string) error {
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "netco")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		address = dir + "/s"
	}
	listen, dial := net.Listen, net.Dial
	if w.ours {
		listen, dial = socket.Listen, socket.Dial
	}
	l, err := listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	a, err := dial(network, l.Addr().String())
	if err != nil {
		return err
	}
	w.ends[0] = a.(diffEnd)
	b, err := l.Accept()
	if err != nil {
		return err
	}
	w.ends[1] = b.(diffEnd)
	if network == "tcp" {
		w.hide = strings.NewReplacer(a.LocalAddr().String(), "A", b.LocalAddr().String(), "B")
	} else {
		w.hide = strings.NewReplacer(address, "PATH")
	}
	for i, c := range w.ends {
		w.fds[i] = diffFD(c)
		if err := errors.Join(c.SetReadBuffer(diffBuffer),
			c.SetWriteBuffer(diffBuffer)); err != nil {
			return err
		}
	}
	return nil
}

func diffFD(c diffEnd) (fd int) {
	if s, ok := c.(socket.Stream); ok {
		return socket.FDOf(s)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(x uintptr) { fd = int(x) })
	return fd
}

// begin runs f in a place; that of net's is an ordinary goroutine.
func (w *diffWorld) begin(p testrun.Place, f func()) *testrun.Task {
	if !w.ours {
		p = testrun.Goroutine
	}
	return p.Go(f)
}

// do runs f in a place to its end.
func (w *diffWorld) do(p testrun.Place, f func()) {
	w.t.Helper()
	w.begin(p, f).Wait(w.t)
}

// settleIn lets a task get to where it waits. A coroutine is watched; no
// outcome depends on whether a goroutine got there.
func (w *diffWorld) settleIn(k *testrun.Task) {
	w.t.Helper()
	testenv.Await(w.t, k.Started, "the task to start")
	if k.Co == nil {
		for range 10 {
			runtime.Gosched()
		}
		return
	}
	testenv.Until(w.t, "the task to wait or end", func() bool {
		return k.Over() || k.Co.State() == coroutine.Waiting
	})
}

// kernel is what the kernel says of an end.
type kernel struct {
	queued int   // bytes to be read
	events int16 // poll's
}

func (k kernel) String() string {
	return fmt.Sprintf("%d bytes to read, events %#x", k.queued, k.events)
}

// readable reports whether a read would not wait.
func (k kernel) readable() bool {
	return k.events&(unix.POLLIN|unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// ask asks the kernel about an end that is open.
func (w *diffWorld) ask(e int) (k kernel) {
	w.t.Helper()
	k.queued = queued(w.t, w.fds[e])
	p := []unix.PollFd{{Fd: int32(w.fds[e]),
		Events: unix.POLLIN | unix.POLLOUT | unix.POLLRDHUP | unix.POLLPRI}}
	if _, err := unix.Poll(p, 0); err != nil {
		w.t.Fatal(err)
	}
	k.events = p[0].Revents
	return k
}

// write writes the next n bytes of an end's stream.
func (w *diffWorld) write(e, n int, do func(c diffEnd, p []byte) (int, error)) (done int,
	err error) {
	p := make([]byte, n)
	fill(p, w.sent[e])
	done, err = do(w.ends[e], p)
	w.sent[e] += done
	return done, err
}

// received checks bytes that an end has read and returns what is wrong with
// them.
func (w *diffWorld) received(e int, p []byte) string {
	return differs(p, int(w.got[e].Add(int64(len(p))))-len(p))
}

// errorText is errorText without what differs from one connection to the next.
func (w *diffWorld) errorText(err error) string { return errorText(err, w.hide) }
