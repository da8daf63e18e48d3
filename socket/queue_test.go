package socket_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/socket"
)

// TestTwoAcceptors: two accept on one listener, the second queued behind the first. C++ netco lost one of them.
func TestTwoAcceptors(t *testing.T) {
	for _, first := range places {
		for _, second := range places {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
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
				a := first.task(accept)
				a.untilParked(t, coroutine.ReasonAccept)
				b := second.task(accept)
				b.untilParked(t, coroutine.ReasonLock)
				for range 2 {
					peer, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						t.Fatal(err)
					}
					defer peer.Close()
					c := await(t, conns, "an accept")
					if c == nil {
						return
					}
					defer c.Close()
					if c.RemoteAddr().String() != peer.LocalAddr().String() {
						t.Errorf("accepted %v, want %v", c.RemoteAddr(), peer.LocalAddr())
					}
				}
				a.wait(t)
				b.wait(t)
			})
		}
	}
}

// TestManyAcceptors: three accept as fast as they can, and each connection goes to exactly one.
func TestManyAcceptors(t *testing.T) {
	const conns = 200
	start(t, 2)
	l := listen(t)
	accepted := make(chan string, conns)
	var tasks []*task
	for _, p := range places {
		tasks = append(tasks, p.task(func() {
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
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		want[peer.LocalAddr().String()] = true
	}
	for range conns {
		a := await(t, accepted, "an accept")
		if !want[a] {
			t.Errorf("accepted %s twice, or from nowhere", a)
		}
		delete(want, a)
	}
	l.Close()
	for _, k := range tasks {
		k.wait(t)
	}
}

// TestTwoReaders: two read from one connection, the second queued behind the first; each gets one of two bytes.
func TestTwoReaders(t *testing.T) {
	for _, first := range places {
		for _, second := range places {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
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
				a := first.task(read)
				a.untilParked(t, coroutine.ReasonRead)
				b := second.task(read)
				b.untilParked(t, coroutine.ReasonLock)
				for _, want := range []byte("ab") {
					if _, err := peer.Write([]byte{want}); err != nil {
						t.Fatal(err)
					}
					if got := await(t, bytes, "a byte"); got != want {
						t.Errorf("read %q, want %q", got, want)
					}
				}
				a.wait(t)
				b.wait(t)
			})
		}
	}
}

// TestTwoWriters: Writes to one connection do not mix.
func TestTwoWriters(t *testing.T) {
	const size, writes = 200 << 10, 4
	start(t, 2)
	c, peer := withPeer(t)
	var tasks []*task
	for i, p := range places {
		tasks = append(tasks, p.task(func() {
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
	for range writes * len(places) {
		if _, err := io.ReadFull(peer, msg); err != nil {
			t.Fatal(err)
		}
		for j := range msg {
			if msg[j] != msg[0] {
				t.Fatalf("a message of writer %d has a byte of writer %d at %d", msg[0], msg[j], j)
			}
		}
	}
	for _, k := range tasks {
		k.wait(t)
	}
}

// TestReaderBesideWriter: both are parked on one connection; what the peer then does wakes the one it concerns, first one, then
// the other. C++ netco lost one.
func TestReaderBesideWriter(t *testing.T) {
	const total = 4 << 20
	for _, r := range places {
		for _, w := range places {
			for _, readerFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s and %s/reader first=%v", r.name, w.name, readerFirst), func(t *testing.T) {
					start(t, 2)
					c, peer := withPeer(t)
					c.SetWriteBuffer(256 << 10)
					peer.SetReadBuffer(256 << 10)
					reader := r.task(func() {
						var b [2]byte
						if n, err := c.Read(b[:]); n != 1 || err != nil || b[0] != 'x' {
							t.Errorf("read %d, %v", n, err)
						}
					})
					writer := w.task(func() {
						if n, err := c.Write(pattern(total)); n != total || err != nil {
							t.Errorf("wrote %d, %v", n, err)
						}
					})
					reader.untilParked(t, coroutine.ReasonRead)
					writer.untilParked(t, coroutine.ReasonWrite)
					drain := func() {
						got := make([]byte, total)
						n, err := io.ReadFull(peer, got)
						if d := differs(got, 0); err != nil || d != "" {
							t.Errorf("the peer read %d, %v %s", n, err, d)
						}
						writer.wait(t)
					}
					feed := func() {
						if _, err := peer.Write([]byte("x")); err != nil {
							t.Error(err)
						}
						reader.wait(t)
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
