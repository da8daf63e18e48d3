package fasthttp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/interop/internal/place"
)

// What of fasthttp starts goroutines or waits on channels.

// TestHijack: a hijacked connection is handed to a goroutine of fasthttp's, not to the coroutine that served it.
func TestHijack(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		var on atomic.Uint64
		s := start(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(c net.Conn) {
				on.Store(netco.Self().ID())
				io.Copy(c, c)
			})
		}}, nil)
		p.Do(t, func() error {
			c, err := netco.Dial("tcp", s.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\nhello"); err != nil {
				return err
			}
			got := make([]byte, len("hello"))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
				return fmt.Errorf("read %q, %v", got, err)
			}
			return nil
		})
		if on.Load() != 0 {
			t.Error("the handler ran on a coroutine")
		}
	})
}

// TestBodyStreamWriter: SetBodyStreamWriter's function runs on a goroutine, and the coroutine that serves waits for it in a channel.
// That is harmless for one that computes.
func TestBodyStreamWriter(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s := start(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 1000 {
					fmt.Fprint(w, netco.Self().ID() == 0, " ")
				}
			})
		}}, nil)
		p.Do(t, func() error {
			got, err := s.call("", s.client.Do)
			if err == nil && len(got) != 1000*len("true ") {
				err = fmt.Errorf("%d bytes: %.20q", len(got), got)
			}
			return err
		})
	})
}

// TestTimeoutHandler: TimeoutHandler wants what Server.Serve makes, so that with ServeConn alone it refuses everything.
func TestTimeoutHandler(t *testing.T) {
	place.Start(t, 1)
	s := start(t, &fasthttp.Server{Handler: fasthttp.TimeoutHandler(echo, time.Minute, "late")},
		nil)
	place.OneProcessor.Do(t, func() error {
		if _, err := s.call("x", s.client.Do); err == nil ||
			err.Error() != fmt.Sprint("status ", fasthttp.StatusTooManyRequests) {
			return fmt.Errorf("answered %v", err)
		}
		return nil
	})
}

// TestNoFreeConns: a coroutine that finds all of MaxConns in use gets ErrNoFreeConns at once. It does not wait.
func TestNoFreeConns(t *testing.T) {
	place.Each(t, func(t *testing.T, p place.Place) {
		s, release := startHeld(t)
		s.client.MaxConns = 1
		wait := p.Go(func() error { _, err := s.call("", s.client.Do); return err })
		release.await()
		p.Do(t, func() error {
			if _, err := s.call("", s.client.Do); err != fasthttp.ErrNoFreeConns {
				return fmt.Errorf("the second call: %v", err)
			}
			return nil
		})
		release.now()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestWaitForConn: with MaxConnWaitTimeout a call waits on a channel for a connection. Where Processors are held up, a coroutine
// leaves that to package blocking: on one Processor, nothing could give the connection back otherwise.
func TestWaitForConn(t *testing.T) {
	place.EachWay(t, place.Waiting(), func(t *testing.T, w place.Way) {
		s := start(t, &fasthttp.Server{Handler: echo}, nil)
		s.client.MaxConns, s.client.MaxConnWaitTimeout = 1, place.Limit
		if err := w.All(8, func(int) error { return s.echoes(5, 1000) }); err != nil {
			t.Fatal(err)
		}
		if n := s.dials.Load(); n < 1 || n > 5 { // one after the other, if no call came for MaxIdleConnDuration
			t.Errorf("%d connections where one is allowed", n)
		}
	})
}

// get asks with GetTimeout, which makes the request on a goroutine and waits for it in a channel.
func (s *site) get(timeout time.Duration) error {
	_, got, err := s.client.GetTimeout(nil, "http://"+s.addr+"/", timeout)
	if err == nil && string(got) != "here" {
		err = fmt.Errorf("read %q", got)
	}
	return err
}

func here(ctx *fasthttp.RequestCtx) { ctx.WriteString("here") }

// TestGetTimeout: wherever the server is.
func TestGetTimeout(t *testing.T) {
	place.EachWay(t, place.Waiting(), func(t *testing.T, w place.Way) {
		s := start(t, &fasthttp.Server{Handler: here}, nil)
		w.Do(t, func() error { return s.get(place.Limit) })
	})
}

// TestDirectGetTimeout: a coroutine may always call it itself if the server is elsewhere, here on goroutines.
func TestDirectGetTimeout(t *testing.T) {
	place.EachWay(t, place.Direct, func(t *testing.T, w place.Way) {
		s := startOn(t, func(fn func()) { go fn() }, &fasthttp.Server{Handler: here}, nil)
		if err := w.All(4, func(int) error { return s.get(place.Limit) }); err != nil {
			t.Error(err)
		}
	})
}

// TestServerOnHeldUpProcessor: on a locked thread, a direct call to a server on coroutines of the caller's own Processor is not
// answered, because that Processor stands still until the call is over.
func TestServerOnHeldUpProcessor(t *testing.T) {
	place.StartLocked(t, 1)
	s := start(t, &fasthttp.Server{Handler: here}, nil)
	place.OneProcessor.Do(t, func() error {
		if err := s.get(100 * time.Millisecond); err != fasthttp.ErrTimeout {
			return fmt.Errorf("answered %v", err)
		}
		return nil
	})
}

// held is a handler's state: whether it has been called, and whether it may return.
type held struct{ begun, released atomic.Bool }

// startHeld starts a server whose handler parks until it is released.
func startHeld(t *testing.T) (*site, *held) {
	h := new(held)
	s := start(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {
		for h.begun.Store(true); !h.released.Load(); {
			netco.Sleep(time.Millisecond)
		}
	}}, nil)
	t.Cleanup(h.now)
	return s, h
}

func (h *held) now() { h.released.Store(true) }

// await waits until the handler has been called. For goroutines.
func (h *held) await() {
	for begin := time.Now(); !h.begun.Load() && time.Since(begin) < place.Limit; {
		time.Sleep(time.Millisecond)
	}
}
