package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// busyOp is an operation that never waits, and so may be repeated for ever.
type busyOp struct {
	make func(t *testing.T) (once func() error)
	most int // others have had their turns within so many; 0: there are not so many
}

// byTime is the limit for operations that look at the clock instead of counting
// a burst.
const byTime = 100_000

var busyOps = map[string]busyOp{
	"read": {func(t *testing.T) func() error {
		const stock = 32 << 10
		c, peer := withPeer(t)
		testenv.Must(peer.Write(make([]byte, stock)))
		testenv.Until(t, "the data", func() bool { return queued(t, c.FD()) == stock })
		return func() error { return testenv.Err(c.Read(make([]byte, 1))) }
	}, 512},
	"read much": {func(t *testing.T) func() error {
		c, peer := withPeer(t)
		go func() {
			for chunk := make([]byte, 256<<10); testenv.Err(peer.Write(chunk)) == nil; {
			}
		}()
		testenv.Until(t, "a stock", func() bool { return queued(t, c.FD()) >= 64<<10 })
		buf := make([]byte, 128<<10)
		return func() error { return testenv.Err(c.Read(buf)) }
	}, 64},
	"write": {func(t *testing.T) func() error {
		c := withSink(t)
		return func() error { return testenv.Err(c.Write(make([]byte, 16))) }
	}, 512},
	"write pieces": {func(t *testing.T) func() error {
		c := withSink(t)
		return func() error { return testenv.Err(c.WriteBuffers(&net.Buffers{{1}, {2}})) }
	}, 512},
	"write by SyscallConn": {func(t *testing.T) func() error {
		c, _ := withPeer(t)
		rc := testenv.Must(c.SyscallConn())
		return func() error { return rc.Write(func(uintptr) bool { return true }) }
	}, 512},
	"accept": {func(t *testing.T) func() error {
		l := listen(t)
		dialMany(t, 100, l.Addr().String())
		return func() error { return shut(l.Accept()) }
	}, 0},
	"write datagrams": {func(t *testing.T) func() error {
		c := dialTo(t, listenUDP(t, loopback4))
		return func() error { return writeOne(c) }
	}, 512},
	"read datagrams": {func(t *testing.T) func() error {
		c, _ := floodedUDP(t)
		return func() error { return err3(c.ReadFromUDPAddrPort(make([]byte, 10))) }
	}, 512},
	"write datagrams to an address": {func(t *testing.T) func() error {
		c := listenUDP(t, loopback4)
		return func() error { return testenv.Err(c.WriteToUDPAddrPort([]byte{1}, portOf(c))) }
	}, 512},
	"read batches": {func(t *testing.T) func() error {
		c, ms := floodedUDP(t)
		return func() error { return testenv.Err(c.ReadBatch(ms)) }
	}, 512},
	"write batches": {func(t *testing.T) func() error {
		c := listenUDP(t, loopback4)
		ms := numbered(0, 32, portOf(c))
		return func() error { return testenv.Err(c.WriteBatch(ms)) }
	}, 64},
	"Unix packets": {func(t *testing.T) func() error {
		a, b := unixPair(t, "unixgram")
		return func() error { return errors.Join(writeOne(b), readOne(a)) }
	}, 512},
	"read a File": {func(t *testing.T) func() error {
		r, w := filePipe(t)
		testenv.Must(w.Write(make([]byte, 32<<10)))
		return func() error { return testenv.Err(r.Read(make([]byte, 1))) }
	}, 512},
	"Poll": {func(t *testing.T) func() error {
		set := in(eventfd(t, 1))
		return func() error { return testenv.Err(socket.Poll(set, -1)) }
	}, byTime},
	"look by Poll": {func(t *testing.T) func() error {
		set := in(eventfd(t, 1))
		return func() error { return testenv.Err(socket.Poll(set, 0)) }
	}, byTime},
}

// withSink returns a connection with much room, whose peer reads.
func withSink(t *testing.T) *socket.TCPConn {
	c, peer := withPeer(t)
	c.SetWriteBuffer(4 << 20)
	go io.Copy(io.Discard, peer)
	return c
}

// floodedUDP returns a socket whose every read finds something, and messages to
// read into. System calls that netco knows nothing of send the socket as much
// as is taken.
func floodedUDP(t *testing.T) (*socket.UDPConn, []socket.Message) {
	c := listenUDP(t, loopback4)
	to := &unix.SockaddrInet4{Port: udpAddr(c).Port, Addr: [4]byte{127, 0, 0, 1}}
	fill := func(n int) {
		for range n {
			unix.Sendto(c.FD(), []byte("x"), unix.MSG_DONTWAIT, to)
		}
	}
	fill(100)
	between(t, sysx.Recv, c.FD(), func(asked int) (int, syscall.Errno) {
		fill(asked)
		return asked, 0
	})
	return c, room(8, 10, 0)
}

// TestStopOfBusy: a coroutine whose operations never wait is cancelled all the
// same, after a burst of them. Others can go on using its sockets.
func TestStopOfBusy(t *testing.T) {
	for name, op := range busyOps {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			once := op.make(t)
			testrun.First.Do(t, func() {
				netco.Self().Stop()
				n := 0
				for once() == nil {
					if n++; n > max(64, op.most/8) {
						t.Error("it goes on and on")
						return
					}
				}
				testenv.Fails(t, once(), netco.ErrShutdown)
			})
			for _, p := range testrun.Places {
				p.Do(t, func() {
					for range 3 {
						testenv.Fails(t, once(), nil, p.Name, "afterwards")
					}
				})
			}
		})
	}
}

// TestForcedShutdownOfBusy: coroutines whose operations always succeed at once
// are cancelled at the yield after a burst. They must not take the connection's
// lock, or a connection just accepted, with them: all can be closed.
func TestForcedShutdownOfBusy(t *testing.T) {
	for name, op := range busyOps {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { untilOpen(t, 0) }) // when all is closed
			testrun.Start(t, 1)
			once := op.make(t)
			other := startOthers(t)
			var done atomic.Int64
			k := testrun.First.Go(func() {
				for ; once() == nil; done.Add(1) {
				}
			})
			testenv.Until(t, "operations", func() bool { return done.Load() >= 50 })
			testrun.Force(t)
			testrun.WaitAll(t, k, other.t)
		})
	}
}

// TestForcedShutdownOfAccept: the end by force may also come at the end of a
// burst of Accepts, with a connection that was just accepted.
func TestForcedShutdownOfAccept(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 1, LockThreads: true})
	l := listen(t)
	release := hog(t, 0)
	for range 100 { // more than a burst
		testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	}
	burst := make(chan struct{})
	k := testrun.First.Go(func() {
		defer l.Close()
		for n := 0; ; n++ {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			c.Close()
			if n == 0 {
				<-burst // holds the Processor
			}
		}
	})
	other := testrun.First.Go(func() {
		for { // another that is always ready makes every yield a real one
			netco.Yield()
		}
	})
	release()
	testenv.Await(t, k.Started, "the acceptor")
	shut := make(chan struct{})
	go func() {
		defer close(shut)
		testrun.Force(t)
	}()
	testenv.Until(t, "the shutdown to begin", func() bool {
		time.Sleep(time.Millisecond) // each that is taken is one more to end
		_, err := netco.Go(func() {})
		return err != nil
	})
	close(burst)
	k.Wait(t)
	other.Wait(t)
	testenv.Await(t, shut, "the shutdown")
	untilOpen(t, 0)
}

// TestBusyLetsOthersRun: a coroutine whose operations never wait lets others
// run, and the Processor look for events: here for two others that play ping
// pong through the kernel, over a Unix stream, where what is sent is there at
// once.
func TestBusyLetsOthersRun(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for name, op := range busyOps {
		if op.most == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			once := op.make(t)
			ping, pong := unixPair(t, "unix")
			testrun.First.Go(func() { echo(pong) })
			var trips atomic.Int64
			var stop atomic.Bool
			pinger := testrun.First.Park(t, coroutine.ReasonRead, func() {
				defer ping.Close()
				for ; !stop.Load(); trips.Add(1) {
					testenv.NoError(t, errors.Join(writeOne(ping), readOne(ping)))
				}
			})
			testrun.First.Do(t, func() {
				defer func() { stop.Store(true) }()
				for range 10 {
					before := trips.Load()
					for n := 0; trips.Load() == before; n++ {
						if err := once(); err != nil || n > op.most {
							t.Errorf("%d operations without a round trip of others, %v", n, err)
							return
						}
					}
				}
			})
			pinger.Wait(t)
		})
	}
}

// others is a coroutine of the first Processor that is always ready, and how
// often it has had its turn.
type others struct {
	turns atomic.Int64 // atomic: a coroutine that computes for long may be left behind
	stop  atomic.Bool
	t     *testrun.Task
}

func startOthers(t *testing.T) *others {
	x := new(others)
	x.t = testrun.First.Go(func() {
		for ; !x.stop.Load(); x.turns.Add(1) {
			netco.Yield()
		}
	})
	testenv.Await(t, x.t.Started, "the other coroutine")
	return x
}

// besideOthers runs f in a coroutine of the first Processor beside another.
func besideOthers(t *testing.T, f func(x *others)) {
	t.Helper()
	x := startOthers(t)
	testrun.First.Do(t, func() {
		defer func() { x.stop.Store(true) }()
		f(x)
	})
	x.t.Wait(t)
}

// overtime keeps the Processor until its turn has lasted so many times as long
// as it should.
func overtime(times int64) {
	for processor.TurnAge() < times*processor.TurnLimit {
	}
}

// TestTurnOverAtOperation: a coroutine that computes between operations which
// find something at once kept its Processor for 32 of them, however long they
// were apart. The next operation after the turn is over lets others run.
func TestTurnOverAtOperation(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for name, op := range busyOps {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			once := op.make(t)
			besideOthers(t, func(x *others) {
				for i := range 5 {
					before := x.turns.Load()
					// The first operation after a wait does not look at the
					// clock, nor does one that follows a yield.
					for try := 0; try < 2 && x.turns.Load() == before; try++ {
						overtime(1)
						testenv.NoError(t, once())
					}
					testenv.True(t, i == 0 || x.turns.Load() != before,
						"operation %d has not let others run", i)
				}
			})
		})
	}
}

// TestTurnOverInBuffer: requests that are served from a Buffered make no system
// call, and 16 KiB of small ones kept the Processor for as long as they take.
func TestTurnOverInBuffer(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	const size = 4000
	for _, c := range []struct {
		name  string
		calls int // until it looks at the clock
		read  func(b *socket.Buffered) error
	}{
		{"Read", 8, func(b *socket.Buffered) error { return testenv.Err(b.Read(make([]byte, 1))) }},
		{"ReadByte", 64, func(b *socket.Buffered) error { return testenv.Err(b.ReadByte()) }},
		{"Peek", 8, func(b *socket.Buffered) error { return testenv.Err(b.Peek(1)) }},
		{"Discard", 8, func(b *socket.Buffered) error { return testenv.Err(b.Discard(1)) }},
		{"ReadSlice", 8, func(b *socket.Buffered) error { return testenv.Err(b.ReadSlice('\n')) }},
		{"ReadLine", 8, func(b *socket.Buffered) error { return testenv.Err(b.ReadLine()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			start(t, 1)
			conn, peer := withPeer(t)
			peer.Write(bytes.Repeat([]byte("\n"), size))
			b := socket.NewBuffered(conn)
			besideOthers(t, func(x *others) {
				testenv.NoError(t, testenv.Err(b.Peek(size)))
				// The first turn is far too long, and the buffer looks at the
				// clock more often from then on.
				for _, most := range []int{2 * c.calls, 8, 8, 8} {
					overtime(2)
					before, n := x.turns.Load(), 0
					for ; x.turns.Load() == before && n < most; n++ {
						testenv.NoError(t, c.read(b))
					}
					testenv.True(t, x.turns.Load() != before, "%d reads have not let others run", n)
				}
			})
		})
	}
}

// TestTurnOverBetweenHandles: a Handle that takes its requests from elsewhere
// than the socket lets others run all the same, between two calls for one
// connection.
func TestTurnOverBetweenHandles(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	start(t, 1)
	c, peer := withPeer(t)
	x := startOthers(t)
	calls, before := 0, int64(0)
	ended := make(chan struct{})
	s := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			if calls++; calls > 1 && x.turns.Load() == before {
				t.Errorf("call %d: others have not run since the last one", calls)
			}
			if calls == 5 {
				return net.ErrClosed
			}
			overtime(1)
			before = x.turns.Load()
			return nil
		},
		Closed: func(*socket.ServerConn, error) { x.stop.Store(true); close(ended) },
	}
	peer.Write([]byte("x"))
	testenv.OK(t, s.ServeConn(c, nil))
	testenv.Await(t, ended, "the connection to end")
	x.t.Wait(t)
}
