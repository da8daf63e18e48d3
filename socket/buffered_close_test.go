package socket_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestBufferedCloseBesideWriter: what a writer has copied when Close comes is
// sent by the writer, which says if it could not. It was lost.
func TestBufferedCloseBesideWriter(t *testing.T) {
	t.Run("sends", func(t *testing.T) {
		inPlaces(t, func(t *testing.T, p testrun.Place) {
			c, peer := withPeer(t)
			p.Do(t, func() {
				b := socket.NewBuffered(c)
				testenv.Gives(t, 2, nil)(b.WriteString("he"))
				testenv.Gives(t, 3, nil)(b.WriteAround([]byte("llo"), func() {
					testenv.NoError(t, b.Close())
				}))
				testenv.Fails(t, testenv.Err(b.WriteString("x")), net.ErrClosed)
				if _, w := b.Holds(); w {
					t.Error("holds a buffer")
				}
			})
			testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(peer)))
			testenv.Equal(t, socket.OpenCount(), 0)
		})
	})
	t.Run("no room", func(t *testing.T) {
		inPlaces(t, func(t *testing.T, p testrun.Place) {
			c, _ := withPeer(t)
			noRoom(t, c)
			p.Do(t, func() {
				b := socket.NewBuffered(c)
				_, err := b.WriteAround([]byte("hello"), func() { testenv.NoError(t, b.Close()) })
				failsIn(t, "write", err, net.ErrClosed)
				if _, w := b.Holds(); w {
					t.Error("holds a buffer")
				}
			})
			testenv.Equal(t, socket.OpenCount(), 0)
		})
	})
}

// TestBufferedCloseBesideReader: a read that sends while Close comes says that
// it could not, also if it has found something to return.
func TestBufferedCloseBesideReader(t *testing.T) {
	for name, feed := range map[string]func(peer *net.TCPConn){
		"bytes": func(peer *net.TCPConn) { peer.Write(make([]byte, 1)) },
		"end":   func(peer *net.TCPConn) { peer.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			inPlaces(t, func(t *testing.T, p testrun.Place) {
				c, peer := withPeer(t)
				noRoom(t, c)
				b := socket.NewBuffered(c)
				p.Do(t, func() {
					for range 7 { // the eighth read in a row sends
						peer.Write(make([]byte, 1))
						c.WaitReadable() // not b's, which would send
						testenv.NoError(t, testenv.Err(b.ReadByte()))
					}
					b.WriteString("x")
					feed(peer)
					c.WaitReadable()
				})
				k := p.Go(func() { failsIn(t, "write", testenv.Err(b.ReadByte()), net.ErrClosed) })
				k.UntilParked(t, coroutine.ReasonWrite)
				testenv.NoError(t, b.Close())
				k.Wait(t)
			})
		})
	}
}

// TestBufferedCloseHammer: while there is room, whatever a Write has taken
// before Close arrives, however the two meet.
func TestBufferedCloseHammer(t *testing.T) {
	start(t, 2)
	for i := range testenv.Rounds(2000) {
		c, peer := withPeer(t)
		b := socket.NewBuffered(c)
		var taken atomic.Int64
		var tasks []*testrun.Task
		for _, p := range testrun.Places {
			tasks = append(tasks, p.Go(func() {
				for range 100 {
					n, err := b.WriteString("0123456789")
					taken.Add(int64(n))
					if err != nil {
						testenv.Fails(t, err, net.ErrClosed)
						testenv.Equal(t, n, 0)
						return
					}
				}
			}))
		}
		tasks = append(tasks, testrun.Places[i%len(testrun.Places)].Go(func() {
			yieldSome(rand.New(rand.NewPCG(uint64(i), 2)))
			testenv.NoError(t, b.Close())
		}))
		n, err := io.Copy(io.Discard, peer)
		testrun.WaitAll(t, tasks...)
		if err != nil || n != taken.Load() {
			t.Fatalf("round %d: %d bytes have arrived of %d, %v", i, n, taken.Load(), err)
		}
		peer.Close()
	}
}
