package socket_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestWaitReadableWaits: on a connection that was just made, and on one that
// has been read empty, it returns when data, the end of the stream or a reset
// comes and not before. It takes nothing. Close, deadlines and shutdown have
// tests of their own.
func TestWaitReadableWaits(t *testing.T) {
	for _, p := range testrun.Places {
		for _, used := range []bool{false, true} {
			for _, then := range []string{"data", "FIN", "reset"} {
				t.Run(fmt.Sprintf("%s/used=%v/%s", p.Name, used, then), func(t *testing.T) {
					start(t, 2)
					c, peer := withPeer(t)
					k := p.Go(func() {
						if used {
							peer.Write([]byte("x"))
							untilReadable(t, c.FD()) // so that it is WaitReadable that waits
							if n, err := c.Read(make([]byte, 10)); n != 1 || err != nil {
								t.Error(n, err)
							}
						}
						if err := c.WaitReadable(); err != nil && then != "reset" {
							t.Errorf("WaitReadable: %v", err)
						}
					})
					k.UntilParked(t, coroutine.ReasonRead)
					switch then {
					case "data":
						peer.Write([]byte("hello"))
					case "FIN":
						peer.CloseWrite()
					case "reset":
						peer.SetLinger(0)
						peer.Close()
					}
					k.Wait(t)
					if then == "data" {
						if n := queued(t, c.FD()); n != 5 {
							t.Errorf("%d bytes left to read, want 5", n)
						}
					}
					p.Do(t, func() {
						b := make([]byte, 10)
						n, err := c.Read(b)
						if got := outcome(n, err); got != map[string]string{
							"data": "5", "FIN": "0 EOF", "reset": "0 read: read: connection reset by peer timeout=false",
						}[then] {
							t.Errorf("the read after it: %s", got)
						}
					})
				})
			}
		}
	}
}

// TestWaitReadableAtOnce: with data or the end of the stream there, it returns
// without waiting, as often as it is asked.
func TestWaitReadableAtOnce(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		peer.Write([]byte("hello"))
		peer.CloseWrite()
		p.Do(t, func() {
			b := make([]byte, 2)
			for _, want := range []string{"he", "ll", "o"} {
				for range 3 {
					if err := c.WaitReadable(); err != nil {
						t.Error(err)
					}
				}
				if n, err := c.Read(b); string(b[:n]) != want || err != nil {
					t.Errorf("read %q, %v, want %q", b[:n], err, want)
				}
			}
			for range 3 {
				if err := c.WaitReadable(); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(b); err != io.EOF {
					t.Errorf("read: %v", err)
				}
			}
		})
	})
}

// TestCallsPerRequest: a request that comes whole costs one read and one write.
// Reading on until EAGAIN, or reading to find out whether there is anything,
// would make it two reads.
func TestCallsPerRequest(t *testing.T) {
	const requests = 500
	for _, borrow := range []bool{false, true} {
		t.Run(fmt.Sprintf("WaitReadable=%v", borrow), func(t *testing.T) {
			start(t, 1)
			c, peer := withPeer(t)
			server := testrun.First.Go(func() {
				if !borrow {
					echo(c)
					return
				}
				for answerBorrowed(c) == nil {
				}
			})
			server.UntilParked(t, coroutine.ReasonRead)
			reads, b := count(t, sysx.Recv), make([]byte, 64)
			for range requests {
				server.UntilParked(t, coroutine.ReasonRead)
				testenv.Must(peer.Write(b))
				testenv.Must(io.ReadFull(peer, b))
			}
			if n := reads.Load(); n > requests+requests/20 {
				t.Errorf("%d reads for %d requests", n, requests)
			}
			peer.Close()
			server.Wait(t)
		})
	}
}

// TestBuffers: the one given back last is lent first; two lent at once are two;
// one released on another Processor, or after its own has ended, does no harm.
func TestBuffers(t *testing.T) {
	start(t, 2)
	var far *socket.Buffer
	testrun.First.Do(t, func() {
		a, b := socket.AcquireBuffer(), socket.AcquireBuffer()
		if len(a.Bytes()) != 16<<10 || len(b.Bytes()) != 16<<10 {
			t.Errorf("buffers of %d and %d bytes", len(a.Bytes()), len(b.Bytes()))
		}
		if &a.Bytes()[0] == &b.Bytes()[0] {
			t.Error("one buffer was lent twice")
		}
		b.Release()
		a.Release()
		c := socket.AcquireBuffer()
		if c != a {
			t.Error("the buffer given back last is not the one lent next")
		}
		far = c
	})
	testrun.Second.Do(t, func() {
		own := socket.AcquireBuffer()
		own.Release()
		far.Release()
		if next := socket.AcquireBuffer(); next != own {
			t.Error("another Processor's buffer went into this one's pool, or this one's was lost")
		} else {
			next.Release()
		}
	})
	testrun.First.Do(t, func() {
		a, b, c := socket.AcquireBuffer(), socket.AcquireBuffer(), socket.AcquireBuffer()
		if a == b || b == c || a == c {
			t.Error("one buffer was lent twice")
		}
		far = a
	})
	stray := socket.AcquireBuffer()
	testrun.First.Go(stray.Release).Wait(t)
	far.Release()
}

// TestBufferOutlivesProcessor: a buffer may be used and released after the
// Scheduler it came from has ended.
func TestBufferOutlivesProcessor(t *testing.T) {
	startAlone(t, 1)
	var b *socket.Buffer
	testrun.First.Go(func() { b = socket.AcquireBuffer() }).Wait(t)
	force(t)
	b.Bytes()[0] = 1
	b.Release()
}
