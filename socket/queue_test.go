package socket_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestTwoAcceptors: two accept on one listener, the second queued behind the
// first. C++ netco lost one of them.
func TestTwoAcceptors(t *testing.T) {
	for _, first := range testrun.Places {
		for _, second := range testrun.Places {
			t.Run(first.Name+" and "+second.Name, func(t *testing.T) {
				start(t, 2)
				l := listen(t)
				conns := make(chan *socket.TCPConn, 2)
				accept := func() {
					c, err := l.AcceptTCP()
					if err != nil {
						t.Error(err)
					}
					conns <- c
				}
				a := first.Go(accept)
				a.UntilParked(t, coroutine.ReasonAccept)
				b := second.Go(accept)
				b.UntilParked(t, coroutine.ReasonLock)
				for range 2 {
					peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
					c := testenv.Await(t, conns, "an accept")
					if c == nil {
						return
					}
					defer c.Close()
					if c.RemoteAddr().String() != peer.LocalAddr().String() {
						t.Errorf("accepted %v, want %v", c.RemoteAddr(), peer.LocalAddr())
					}
				}
				a.Wait(t)
				b.Wait(t)
			})
		}
	}
}

// TestManyAcceptors: three accept as fast as they can, and each connection goes
// to exactly one.
func TestManyAcceptors(t *testing.T) {
	const conns = 200
	start(t, 2)
	l := listen(t)
	accepted := make(chan string, conns)
	var tasks []*testrun.Task
	for _, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					checkClosed(t, "accept", err)
					return
				}
				accepted <- c.RemoteAddr().String()
				c.Close()
			}
		}))
	}
	want := map[string]bool{}
	for range conns {
		peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
		want[peer.LocalAddr().String()] = true
	}
	for range conns {
		a := testenv.Await(t, accepted, "an accept")
		if !want[a] {
			t.Errorf("accepted %s twice, or from nowhere", a)
		}
		delete(want, a)
	}
	l.Close()
	testrun.WaitAll(t, tasks...)
}

// TestTwoReaders: two read from one connection, the second queued behind the
// first; each gets one of two bytes.
func TestTwoReaders(t *testing.T) {
	for _, first := range testrun.Places {
		for _, second := range testrun.Places {
			t.Run(first.Name+" and "+second.Name, func(t *testing.T) {
				start(t, 2)
				c, peer := withPeer(t)
				bytes := make(chan byte, 2)
				read := func() {
					var b [1]byte
					if _, err := c.Read(b[:]); err != nil {
						t.Error(err)
					}
					bytes <- b[0]
				}
				a := first.Go(read)
				a.UntilParked(t, coroutine.ReasonRead)
				b := second.Go(read)
				b.UntilParked(t, coroutine.ReasonLock)
				for _, want := range []byte("ab") {
					testenv.Must(peer.Write([]byte{want}))
					if got := testenv.Await(t, bytes, "a byte"); got != want {
						t.Errorf("read %q, want %q", got, want)
					}
				}
				a.Wait(t)
				b.Wait(t)
			})
		}
	}
}

// TestTwoWriters: Writes to one connection do not mix.
func TestTwoWriters(t *testing.T) {
	const size, writes = 200 << 10, 4
	start(t, 2)
	c, peer := withPeer(t)
	var tasks []*testrun.Task
	for i, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			msg := make([]byte, size)
			for j := range msg {
				msg[j] = byte(i)
			}
			for range writes {
				if n, err := c.Write(msg); n != size || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			}
		}))
	}
	msg := make([]byte, size)
	for range writes * len(testrun.Places) {
		testenv.Must(io.ReadFull(peer, msg))
		for j := range msg {
			if msg[j] != msg[0] {
				t.Fatalf("a message of writer %d has a byte of writer %d at %d", msg[0], msg[j], j)
			}
		}
	}
	testrun.WaitAll(t, tasks...)
}

// TestReaderBesideWriter: both are parked on one connection; what the peer then
// does wakes the one it concerns, first one, then the other. C++ netco lost
// one.
func TestReaderBesideWriter(t *testing.T) {
	const total = 4 << 20
	for _, r := range testrun.Places {
		for _, w := range testrun.Places {
			for _, readerFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s and %s/reader first=%v", r.Name, w.Name, readerFirst), func(t *testing.T) {
					start(t, 2)
					c, peer := withPeer(t)
					c.SetWriteBuffer(256 << 10)
					peer.SetReadBuffer(256 << 10)
					reader := r.Go(func() {
						var b [2]byte
						if n, err := c.Read(b[:]); n != 1 || err != nil || b[0] != 'x' {
							t.Errorf("read %d, %v", n, err)
						}
					})
					writer := w.Go(func() {
						if n, err := c.Write(pattern(total)); n != total || err != nil {
							t.Errorf("wrote %d, %v", n, err)
						}
					})
					reader.UntilParked(t, coroutine.ReasonRead)
					writer.UntilParked(t, coroutine.ReasonWrite)
					drain := func() {
						got := make([]byte, total)
						n, err := io.ReadFull(peer, got)
						if d := differs(got, 0); err != nil || d != "" {
							t.Errorf("the peer read %d, %v %s", n, err, d)
						}
						writer.Wait(t)
					}
					feed := func() {
						if _, err := peer.Write([]byte("x")); err != nil {
							t.Error(err)
						}
						reader.Wait(t)
					}
					if readerFirst {
						feed()
						drain()
					} else {
						drain()
						feed()
					}
				})
			}
		}
	}
}
