// Package bubble runs other people's libraries over netco's pipe in bubbles of
// testing/synctest.
package bubble

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http2"

	"github.com/netco-go/netco/net"
)

// twice runs f in two bubbles, one after the other: the second must find
// nothing of the first.
func twice(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for range 2 {
		// net/http and http2 keep channels in pools of their own, which a
		// bubble must not find: two collections empty those. What netco keeps
		// would have been used by then.
		synctest.Test(t, f)
		runtime.GC()
		runtime.GC()
	}
}

// slow answers after an hour.
func slow(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	time.Sleep(time.Hour)
	w.Write(body)
}

// oneConn is a listener of one connection.
type oneConn struct {
	net.Listener
	conns chan net.Conn
}

func (o *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-o.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (o *oneConn) Close() error   { return nil }
func (o *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// ends fails unless a call by do of slow takes an hour, and one under a timeout
// of a minute that.
func ends(t *testing.T, do func(context.Context) (string, error)) {
	t.Helper()
	began := time.Now()
	if got, err := do(context.Background()); err != nil || got != "body" ||
		time.Since(began) != time.Hour {
		t.Errorf("%q, %v after %v", got, err, time.Since(began))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began = time.Now()
	if _, err := do(ctx); err == nil || time.Since(began) != time.Minute {
		t.Errorf("under a timeout: %v after %v", err, time.Since(began))
	}
}

// post makes a request by rt.
func post(ctx context.Context, rt http.RoundTripper) (string, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", "http://pipe.invalid/", http.NoBody)
	if err != nil {
		return "", err
	}
	r.Body, r.ContentLength = io.NopCloser(&io.LimitedReader{R: endless{}, N: 4}), 4
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

// endless is "body" over and over.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, "body"), nil }

func TestHTTP(t *testing.T) {
	twice(t, func(t *testing.T) {
		l := &oneConn{conns: make(chan net.Conn, 2)}
		server := &http.Server{Handler: http.HandlerFunc(slow), ReadTimeout: 2 * time.Hour,
			IdleTimeout: time.Minute}
		go server.Serve(l)
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn,
			error) {
			a, b := net.Pipe()
			l.conns <- b
			return a, nil
		}}
		ends(t, func(ctx context.Context) (string, error) { return post(ctx, transport) })
		transport.CloseIdleConnections()
		close(l.conns)
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestHTTP2(t *testing.T) {
	twice(t, func(t *testing.T) {
		a, b := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			new(http2.Server).ServeConn(b, &http2.ServeConnOpts{Handler: http.HandlerFunc(slow)})
		}()
		transport := &http2.Transport{AllowHTTP: true, ReadIdleTimeout: time.Minute} // pings go to and fro meanwhile
		c, err := transport.NewClientConn(a)
		if err != nil {
			t.Fatal(err)
		}
		ends(t, func(ctx context.Context) (string, error) { return post(ctx, c) })
		c.Close()
		<-served
		time.Sleep(time.Hour) // the handler that was left
	})
}

// fastRequest is made by hand: fasthttp's client keeps timers from bubble to
// bubble.
func fastRequest(c net.Conn) (string, error) {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: pipe.invalid\r\n\r\n"); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

func TestFastHTTP(t *testing.T) {
	use := func(t *testing.T, nap time.Duration, idle time.Duration) {
		server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			time.Sleep(nap)
			ctx.WriteString("body")
		}, IdleTimeout: idle}
		a, b := net.Pipe()
		served := make(chan error)
		go func() { served <- server.ServeConn(b) }()
		began := time.Now()
		got, err := fastRequest(a)
		if took := time.Since(began); err != nil || got != "body" || nap == time.Hour &&
			took != nap {
			t.Errorf("%q, %v after %v", got, err, took)
		}
		<-served // for IdleTimeout
		if took := time.Since(began); nap == time.Hour && took != nap+idle {
			t.Errorf("it was closed after %v", took)
		}
		a.Close()
	}
	use(t, 0, time.Millisecond) // a goroutine of fasthttp's that never ends begins with the first answer
	twice(t, func(t *testing.T) { use(t, time.Hour, time.Minute) })
	use(t, 0, time.Millisecond)
}
