package socket_test

import (
	"bytes"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// others is a coroutine of the first Processor that is always ready, and how
// often it has had its turn.
type others struct {
	turns int // owner: the first Processor
	stop  bool
	t     *testrun.Task
}

func startOthers(t *testing.T) *others {
	x := new(others)
	begun := make(chan struct{})
	x.t = testrun.First.Go(func() {
		close(begun)
		for ; !x.stop; x.turns++ {
			netco.Yield()
		}
	})
	testenv.Await(t, begun, "the other coroutine")
	return x
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
	for name, prepare := range map[string]func(t *testing.T) (op func() error){
		"Read": func(t *testing.T) func() error {
			c, peer := withPeer(t)
			peer.Write(make([]byte, 1000))
			testenv.Until(t, "the data", func() bool { return queued(t, c.FD()) == 1000 })
			return func() error { _, err := c.Read(make([]byte, 10)); return err }
		},
		"Write": func(t *testing.T) func() error {
			c, _ := withPeer(t)
			return func() error { _, err := c.Write(make([]byte, 10)); return err }
		},
		"WriteBuffers": func(t *testing.T) func() error {
			c, _ := withPeer(t)
			return func() error { _, err := c.WriteBuffers(&net.Buffers{make([]byte, 10)}); return err }
		},
		"File.Read": func(t *testing.T) func() error {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			w.Write(make([]byte, 1000))
			f := testenv.Closing(t, testenv.Must(socket.NewFile(r)))
			return func() error { _, err := f.Read(make([]byte, 10)); return err }
		},
		"datagrams": func(t *testing.T) func() error {
			l := testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))
			c := testenv.Must(socket.Dial("udp", l.LocalAddr().String()))
			t.Cleanup(func() { c.Close(); l.Close() })
			return func() error { _, err := c.Write(make([]byte, 10)); return err }
		},
		"Poll": func(t *testing.T) func() error {
			c, _ := withPeer(t)
			return func() error {
				_, err := socket.Poll([]socket.PollFd{{Fd: int32(c.FD()), Events: unix.POLLOUT}}, -1)
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			op := prepare(t)
			x := startOthers(t)
			testrun.First.Do(t, func() {
				defer func() { x.stop = true }()
				for i := range 5 {
					overtime(1)
					before := x.turns
					if err := op(); err != nil {
						t.Error(err)
					}
					// The first operation after a wait does not look, nor does
					// one that follows a yield.
					if i > 0 && x.turns == before {
						overtime(1)
						if err := op(); err != nil {
							t.Error(err)
						}
						if x.turns == before {
							t.Errorf("operation %d has not let others run", i)
						}
					}
				}
			})
			x.t.Wait(t)
		})
	}
}

// TestTurnOverInBuffer: requests that are served from a Buffered make no system
// call, and 16 KiB of small ones kept the Processor for as long as they take.
func TestTurnOverInBuffer(t *testing.T) {
	const size = 4000
	for name, c := range map[string]struct {
		calls int // until it looks at the clock
		read  func(b *socket.Buffered) error
	}{
		"Read":      {8, func(b *socket.Buffered) error { _, err := b.Read(make([]byte, 1)); return err }},
		"ReadByte":  {64, func(b *socket.Buffered) error { _, err := b.ReadByte(); return err }},
		"Peek":      {8, func(b *socket.Buffered) error { _, err := b.Peek(1); return err }},
		"Discard":   {8, func(b *socket.Buffered) error { _, err := b.Discard(1); return err }},
		"ReadSlice": {8, func(b *socket.Buffered) error { _, err := b.ReadSlice('\n'); return err }},
		"ReadLine":  {8, func(b *socket.Buffered) error { _, err := b.ReadLine(); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			conn, peer := withPeer(t)
			peer.Write(bytes.Repeat([]byte("\n"), size))
			b := socket.NewBuffered(conn)
			x := startOthers(t)
			testrun.First.Do(t, func() {
				defer func() { x.stop = true }()
				if _, err := b.Peek(size); err != nil {
					t.Error(err)
				}
				calls := func(most int) {
					t.Helper()
					for before, n := x.turns, 0; x.turns == before; n++ {
						if n == most {
							t.Errorf("%d reads have not let others run", n)
							return
						}
						if err := c.read(b); err != nil {
							t.Error(err)
						}
					}
				}
				overtime(2)
				calls(2 * c.calls)
				for range 3 { // it was far too late, and looks more often
					overtime(2)
					calls(8)
				}
			})
			x.t.Wait(t)
		})
	}
}

// TestTurnOverBetweenHandles: a Handle that takes its requests from elsewhere
// than the socket lets others run all the same, between two calls for one
// connection.
func TestTurnOverBetweenHandles(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	x := startOthers(t)
	calls, before := 0, 0
	ended := make(chan struct{})
	s := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			if calls++; calls > 1 && x.turns == before {
				t.Errorf("call %d: others have not run since the last one", calls)
			}
			if calls == 5 {
				return net.ErrClosed
			}
			overtime(1)
			before = x.turns
			return nil
		},
		Closed: func(*socket.ServerConn, error) { x.stop = true; close(ended) },
	}
	peer.Write([]byte("x"))
	testenv.OK(t, s.ServeConn(c))
	testenv.Await(t, ended, "the connection to end")
	x.t.Wait(t)
}
