package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) {
	// before the testing package has used a timer, see process_test.go
	if child := children.Chosen(); child != nil {
		child()
		return
	}
	testenv.Split(m, 4)
}

// limit is when a test gives up waiting. No test passes by waiting that long.
const limit = testenv.Limit

// start starts the default Scheduler with n Processors. The test's end shuts it
// down, which must find nothing left over.
func start(t testing.TB, n int) {
	t.Helper()
	startWith(t, netco.Options{Processors: n, MinActive: n})
}

// startLocked is start with threads of the Processors' own, for hog.
func startLocked(t testing.TB, n int) {
	t.Helper()
	startWith(t, netco.Options{Processors: n, LockThreads: true})
}

// startWith is start with further options.
func startWith(t testing.TB, o netco.Options) {
	t.Helper()
	t.Cleanup(func() { // runs after the Scheduler is shut down
		if !t.Failed() {
			untilOpen(t, 0)
		}
	})
	testrun.StartWith(t, o)
}

// inPlaces starts two Processors and runs f as a subtest in each place.
func inPlaces(t *testing.T, f func(t *testing.T, p testrun.Place)) {
	t.Helper()
	start(t, 2)
	testrun.Each(t, f)
}

// inPlacesOf is inPlaces for a case of a table, in a subtest of its name.
func inPlacesOf(t *testing.T, name string, f func(t *testing.T, p testrun.Place)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inPlaces(t, f) })
}

// inTurn returns the places for case i of a long table: one of them, each in
// turn, or all at full length.
func inTurn(i int, places []testrun.Place) []testrun.Place {
	if testenv.Full() {
		return places
	}
	return places[i%len(places):][:1]
}

// inTurnOf runs f for case i of a long table, as a subtest for each of its
// places. Precondition: two Processors.
func inTurnOf(t *testing.T, i int, name string, f func(t *testing.T, p testrun.Place)) {
	t.Helper()
	for _, p := range inTurn(i, testrun.Places) {
		t.Run(name+"/"+p.Name, func(t *testing.T) { f(t, p) })
	}
}

func listen(t testing.TB) *socket.TCPListener {
	t.Helper()
	return testenv.Closing(t, testenv.Must(listenTCP("tcp", "127.0.0.1:0")))
}

// pair returns the two ends of a connection, both netco's.
func pair(t testing.TB) (a, b *socket.TCPConn) {
	t.Helper()
	l := listen(t)
	defer l.Close()
	a = testenv.Closing(t, testenv.Must(dialTCP("tcp", l.Addr().String())))
	b = testenv.Closing(t, testenv.Must(l.AcceptTCP()))
	return a, b
}

// withPeer returns a connection whose other end is the standard library's.
func withPeer(t testing.TB) (*socket.TCPConn, *net.TCPConn) {
	t.Helper()
	l := listen(t)
	defer l.Close()
	peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	peer.SetDeadline(time.Now().Add(limit))
	c := testenv.Closing(t, testenv.Must(l.AcceptTCP()))
	return c, peer.(*net.TCPConn)
}

// netPair is withPeer with both ends the standard library's, to compare netco's
// with.
func netPair(t testing.TB) (c, peer *net.TCPConn) {
	t.Helper()
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	p := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	a := testenv.Closing(t, testenv.Must(l.Accept()))
	return a.(*net.TCPConn), p.(*net.TCPConn)
}

// hog holds a Processor, which has a thread of its own, until the function it
// returns is called: meanwhile nothing runs there, and nothing looks for
// events.
func hog(t testing.TB, i int) (release func()) {
	t.Helper()
	if s, err := netco.Default(); err != nil || engine.Of(s).Processors()[i].Tid() == 0 {
		t.Fatal("its Processor would go on without hog")
	}
	held, let := make(chan struct{}), make(chan struct{})
	k := testrun.On(i).Go(func() {
		close(held)
		<-let
	})
	testenv.Await(t, held, "the Processor")
	return func() {
		close(let)
		k.Wait(t)
	}
}

// Kernel's names for the states of a connection.
const (
	tcpClose     = 7
	tcpCloseWait = 8
)

func tcpState(t testing.TB, fd int) int {
	t.Helper()
	return int(testenv.Must(unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)).State)
}

// queued returns how many bytes wait to be read.
func queued(t testing.TB, fd int) int {
	t.Helper()
	return testenv.Must(unix.IoctlGetInt(fd, unix.TIOCINQ))
}

// tile repeats in the pattern; its length is no multiple of any buffer's.
var tile = func() []byte {
	p := make([]byte, 65521)
	for i := range p {
		p[i] = byte(i) ^ byte(i>>8)*31
	}
	return p
}()

// pattern returns n bytes that show where in the stream they are, so that a
// loss, a repetition or a swap shows.
func pattern(n int) []byte {
	p := make([]byte, n)
	fill(p, 0)
	return p
}

// fill fills p with the pattern from offset on.
func fill(p []byte, offset int) {
	for len(p) > 0 {
		n := copy(p, tile[offset%len(tile):])
		p, offset = p[n:], offset+n
	}
}

// readsText checks that one Read gives a text.
func readsText(t testing.TB, r io.Reader, want string, what ...any) {
	b := make([]byte, len(want)+100)
	n, err := r.Read(b)
	t.Helper()
	testenv.Gives(t, want, nil, what...)(string(b[:max(n, 0)]), err)
}

// ofAny gives the result of a function of either package a type that both have,
// and nil beside an error.
func ofAny[I, A, T any](f func(string, A) (T, error)) func(string, A) (I, error) {
	return func(network string, a A) (i I, err error) {
		c, err := f(network, a)
		if err == nil {
			i = any(c).(I)
		}
		return i, err
	}
}

// ofAny2 is ofAny for functions of two addresses.
func ofAny2[I, A, T any](f func(string, A, A) (T, error)) func(string, A, A) (I, error) {
	return func(network string, a, b A) (I, error) {
		return ofAny[I](func(n string, b A) (T, error) { return f(n, a, b) })(network, b)
	}
}

// differs says where got is not the pattern from offset on, or "".
func differs(got []byte, offset int) string {
	for len(got) > 0 {
		want := tile[offset%len(tile):]
		want = want[:min(len(want), len(got))]
		if !bytes.Equal(got[:len(want)], want) {
			i := 0
			for got[i] == want[i] {
				i++
			}
			return fmt.Sprintf("byte %d is %#x, want %#x", offset+i, got[i], want[i])
		}
		got, offset = got[len(want):], offset+len(want)
	}
	return ""
}

// failsIn checks that err is want, of an operation by the name that net gives
// it.
func failsIn(t testing.TB, op string, err, want error) {
	t.Helper()
	testenv.Fails(t, err, want, op)
	var e *net.OpError
	testenv.True(t, errors.As(err, &e) && e.Op == op, "%#v, want a *net.OpError of %s", err, op)
}

// untilOpen waits until so many sockets are open. The last coroutine to use one
// closes it, which may be one that the end by force did not wait for.
func untilOpen(t testing.TB, n int) {
	t.Helper()
	testenv.Until(t, fmt.Sprint(n, " sockets to be open"), func() bool {
		return sockinfo.OpenCount() == n
	})
}

// err3 is the error of a call with three results.
func err3[A, B any](_ A, _ B, err error) error { return err }

// place is one of the places in turn.
func place(i int) testrun.Place { return testrun.Places[i%len(testrun.Places)] }

// someplace is a random place.
func someplace(rnd *rand.Rand) testrun.Place { return place(rnd.IntN(len(testrun.Places))) }

// reportEnds makes s send the errors that Closed is called with.
func reportEnds(s *socket.Server) (ends chan error) {
	ends = make(chan error, 1<<12)
	s.Closed = func(_ *socket.ServerConn, err error) { ends <- err }
	return ends
}

// echo sends back what it reads until the end of the stream, then closes.
func echo(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// acceptAll gives each connection of l to f until l is closed.
func acceptAll(t testing.TB, l net.Listener, f func(c net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			testenv.Fails(t, err, net.ErrClosed, "Accept")
			return
		}
		f(c)
	}
}

// listenTCP and dialTCP are Listen and Dial with the types they have for TCP.
var (
	listenTCP = ofAny[*socket.TCPListener](conet.Listen)
	dialTCP   = ofAny[*socket.TCPConn](conet.Dial)
)
