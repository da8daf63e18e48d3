package http_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	stdhttp "net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// start starts a server, of HTTP/2 or not, and returns a client of it.
func start(t *testing.T, two bool, h http.HandlerFunc) (url string, client *http.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = two
	if two {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	base := s.Client().Transport.(*stdhttp.Transport)
	client = &http.Client{Transport: &http.Transport{
		TLSClientConfig:   base.TLSClientConfig.Clone(), // Server.Close writes to base's
		ForceAttemptHTTP2: two,
	}}
	t.Cleanup(client.CloseIdleConnections)
	return s.URL, client
}

// versions runs f as a subtest for each version of HTTP.
func versions(t *testing.T, f func(t *testing.T, two bool)) {
	t.Run("HTTP/1.1", func(t *testing.T) { f(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { f(t, true) })
}

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// asStandard returns a client of the standard's with the same settings.
func asStandard(t *testing.T, c *http.Client) *stdhttp.Client {
	own := c.Transport.(*http.Transport)
	std := &stdhttp.Transport{ForceAttemptHTTP2: own.ForceAttemptHTTP2,
		ResponseHeaderTimeout: own.ResponseHeaderTimeout}
	if own.TLSClientConfig != nil {
		std.TLSClientConfig = own.TLSClientConfig.Clone()
	}
	t.Cleanup(std.CloseIdleConnections)
	return &stdhttp.Client{Transport: std}
}

const large = 300_000

// pages answers in different ways.
func pages(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/small":
		io.WriteString(w, "small")
	case "/large":
		w.Write(make([]byte, large))
	case "/chunks":
		for i := range 50 {
			fmt.Fprintf(w, "%d,", i)
			w.(http.Flusher).Flush()
		}
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/moved":
		http.Redirect(w, r, "/small", http.StatusFound)
	case "/echo":
		io.Copy(w, r.Body)
	case "/broken":
		if h, ok := w.(http.Hijacker); ok {
			c, _, _ := h.Hijack()
			io.WriteString(c, "broken\r\n")
			c.Close()
		}
	default:
		http.NotFound(w, r)
	}
}

// fetch returns all that a client can see of an answer of whose body it reads
// so many bytes, all if -1, and of Reads after Close.
func fetch(c doer, method, url, body string, buffer int, bytes int64) string {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return err.Error()
	}
	if body != "" { // the standard's Transport sends it
		req.Body = io.NopCloser(iotest.HalfReader(strings.NewReader(body)))
	}
	resp, err := c.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	sum, in := crc32.NewIEEE(), struct{ io.Reader }{resp.Body}
	if bytes >= 0 {
		in.Reader = io.LimitReader(resp.Body, bytes)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{sum}, in, make([]byte, buffer))
	closed := resp.Body.Close()
	after, err2 := resp.Body.Read(make([]byte, 10))
	_, err3 := resp.Body.Read(nil)
	return fmt.Sprint(resp.Status, resp.Proto, resp.ContentLength, resp.Request.URL,
		n, sum.Sum32(), err, closed, after, err2, err3)
}

// TestAsStandard: a coroutine gets the answers that a goroutine gets of
// net/http's client. A closed body returned bytes that had been read ahead.
func TestAsStandard(t *testing.T) {
	versions(t, func(t *testing.T, two bool) {
		url, client := start(t, two, pages)
		standard := asStandard(t, client)
		testrun.Start(t, 2)
		for _, c := range []struct {
			method, path, body string
			buffer             int
		}{
			{"GET", "/small", "", 1}, {"GET", "/small", "", 4096}, {"HEAD", "/small", "", 10},
			{"GET", "/large", "", 700}, {"GET", "/large", "", 100_000}, {"GET", "/chunks", "", 3},
			{"GET", "/none", "", 10}, {"GET", "/moved", "", 10}, {"GET", "/other", "", 10},
			{"POST", "/echo", strings.Repeat("body", 20_000), 5000},
			{"GET", "\x7f", "", 1}, {"GET", "/broken", "", 1},
		} {
			for _, bytes := range []int64{-1, 0, 1} {
				get := func(by doer) string {
					return fetch(by, c.method, url+c.path, c.body, c.buffer, bytes)
				}
				want := get(standard)
				testrun.Each(t, func(t *testing.T, p testrun.Place) {
					p.Do(t, func() {
						testenv.Equal(t, get(client), want, c.method, c.path, bytes, "bytes:")
					})
				})
			}
		}
	})
}

// TestCutShort: an answer that ends, or stops, at any byte gives the standard's
// result. A head that stopped within a line was malformed, not late.
func TestCutShort(t *testing.T) {
	const head, body = "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello"
	for _, stops := range []bool{false, true} {
		url, client := start(t, false, func(w http.ResponseWriter, r *http.Request) {
			var n int
			testenv.Must(fmt.Sscanf(r.URL.Path, "/%d", &n))
			c, _, err := w.(http.Hijacker).Hijack()
			testenv.MustOK(err)
			defer c.Close()
			if io.WriteString(c, (head + body)[:n]); stops {
				io.Copy(io.Discard, c)
			}
		})
		most, step := len(head+body), 1
		if stops {
			most, step = len(head)-1, 4
			client.Transport.(*http.Transport).ResponseHeaderTimeout = 5 * time.Millisecond
		}
		standard := asStandard(t, client)
		testrun.Start(t, 1)
		for n := 0; n <= most; n += step {
			at := fmt.Sprint(url, "/", n)
			want := fetch(standard, "GET", at, "", 10, -1)
			testrun.First.Do(t, func() {
				testenv.Equal(t, fetch(client, "GET", at, "", 10, -1), want)
			})
		}
		testrun.Shutdown(t)
	}
}

// TestManyOnOne: many coroutines of a Processor that waits for each, as its
// threads are locked, have requests under way at a time. No answer ends before
// all have come and a coroutine beside them has run.
func TestManyOnOne(t *testing.T) {
	versions(t, func(t *testing.T, two bool) {
		const crowd = 50
		var arrived sync.WaitGroup
		arrived.Add(crowd + 1)
		url, client := start(t, two, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "head ")
			w.(http.Flusher).Flush()
			arrived.Done()
			arrived.Wait()
			io.WriteString(w, "body")
		})
		testrun.StartWith(t, netco.Options{Processors: 1, LockThreads: true})
		var tasks []*testrun.Task
		for range crowd {
			tasks = append(tasks, testrun.On(0).Go(func() {
				resp, err := client.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				testenv.Gives(t, "head body", nil)(string(text), err)
			}))
		}
		tasks = append(tasks, testrun.On(0).Go(arrived.Done))
		testrun.WaitAll(t, tasks...)
	})
}

// stuck is a server that answers a head and half a body, or nothing, and then
// waits for the client to go.
type stuck struct {
	half   bool
	begun  atomic.Int64
	seen   chan struct{} // closed when the client has gone
	closed sync.Once
}

func (s *stuck) serve(w http.ResponseWriter, r *http.Request) {
	if s.half {
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
	}
	s.begun.Add(1)
	<-r.Context().Done()
	s.closed.Do(func() { close(s.seen) })
}

// TestEnds: an event that ends a wait for the head or for the body ends it with
// its error, and the server sees the client go.
func TestEnds(t *testing.T) {
	type ending struct {
		name  string
		limit time.Duration // Client.Timeout
		end   func(t *testing.T, cancel func())
		is    func(error) bool
	}
	for _, e := range []ending{
		{"cancelled", 0, func(_ *testing.T, cancel func()) { cancel() },
			func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"timeout", 100 * time.Millisecond, func(*testing.T, func()) {}, os.IsTimeout},
		{"forced", 0, func(t *testing.T, _ func()) { testrun.ShutdownByForce(t) },
			func(err error) bool { return errors.Is(err, netco.ErrShutdown) }},
	} {
		for _, half := range []bool{false, true} {
			t.Run(fmt.Sprint(e.name, " half ", half), func(t *testing.T) {
				versions(t, func(t *testing.T, two bool) {
					s := &stuck{half: half, seen: make(chan struct{})}
					url, client := start(t, two, s.serve)
					client.Timeout = e.limit
					testrun.Start(t, 1)
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					var err error
					task := testrun.On(0).Go(func() { err = get(ctx, client, url) })
					if e.limit == 0 {
						testenv.Until(t, "the request", func() bool { return s.begun.Load() > 0 })
						testrun.In(t, 0, netco.Yield)
					}
					e.end(t, cancel)
					task.Wait(t)
					if !e.is(err) {
						t.Errorf("%v", err)
					}
					if s.begun.Load() > 0 {
						testenv.Await(t, s.seen, "the server to see the client go")
					}
				})
			})
		}
	}
}

// get reads an answer to its end.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// transportOf returns a Transport that asks rt for URLs of a scheme of its own.
func transportOf(rt http.RoundTripper) *http.Transport {
	t := new(http.Transport)
	t.RegisterProtocol("other", rt)
	return t
}

// broken is a RoundTripper that fails, after it has closed the body.
type broken struct{}

func (broken) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

// answer is a RoundTripper that answers with an empty body, and keeps the
// request.
type answer struct{ req *http.Request }

func (a *answer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.req = r
	body := io.NopCloser(strings.NewReader(""))
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: body}, nil
}

// TestRequest: the response names the request that was made, whose context is
// cancelled with Close and not before.
func TestRequest(t *testing.T) {
	testrun.With(t, 1, func() {
		req := testenv.Must(http.NewRequest("GET", "other://127.0.0.1:0/", nil))
		a := new(answer)
		resp, err := transportOf(a).RoundTrip(req)
		if err != nil || resp.Request != req {
			t.Errorf("%v, %v", resp, err)
			return
		}
		if err := a.req.Context().Err(); err != nil {
			t.Errorf("before Close: %v", err)
		}
		testenv.OK(t, resp.Body.Close())
		if a.req.Context().Err() == nil {
			t.Error("after Close the context goes on")
		}
	})
}

// fixed is a RoundTripper with one answer, which may be incomplete.
type fixed struct{ resp *http.Response }

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.resp == nil {
		return nil, nil
	}
	resp := *f.resp
	resp.Request = r
	return &resp, nil
}

// TestIncomplete: an answer without a Body, or no answer at all, is left to
// http.Client in a coroutine as elsewhere.
func TestIncomplete(t *testing.T) {
	for name, resp := range map[string]*http.Response{
		"no body": {StatusCode: http.StatusOK}, "none": nil,
		"no body that has a length": {StatusCode: http.StatusOK, ContentLength: 1},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: transportOf(fixed{resp})}
			ask := func() string { return fetch(client, "GET", "other://127.0.0.1:0/", "", 10, -1) }
			want := ask()
			testrun.With(t, 1, func() { testenv.Equal(t, ask(), want) })
		})
	}
}

type closer struct {
	io.Reader
	closed chan struct{}
}

func (c closer) Close() error { close(c.closed); return nil }

// TestNotStarted: where no wait is possible the request's body is closed.
func TestNotStarted(t *testing.T) {
	for _, forced := range []bool{false, true} {
		testrun.Start(t, 1)
		c := closer{strings.NewReader("body"), make(chan struct{})}
		req := testenv.Must(http.NewRequest("POST", "other://127.0.0.1:0/", c))
		var err error
		task := testrun.On(0).Go(func() {
			if forced {
				netco.Self().Stop()
			}
			_, err = transportOf(broken{}).RoundTrip(req)
		})
		task.Wait(t)
		want := io.ErrUnexpectedEOF
		if forced {
			want = netco.ErrShutdown
		}
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		testenv.Await(t, c.closed, "the request's body to be closed")
		testrun.Shutdown(t)
	}
}

// closing is a body of 8 bytes that Close calls a function for.
type closing struct {
	io.Reader
	close func()
}

func (c *closing) Close() error { c.close(); return nil }

// TestCloseBesideRead: a Read during the body's Close does not take the end of
// what was read ahead for the end of the body.
func TestCloseBesideRead(t *testing.T) {
	body := &closing{Reader: iotest.DataErrReader(strings.NewReader("12345678"))}
	rt := transportOf(fixed{&http.Response{StatusCode: 200, Body: body, ContentLength: 8}})
	testrun.With(t, 1, func() {
		resp, err := rt.RoundTrip(testenv.Must(http.NewRequest("GET", "other://127.0.0.1:0/", nil)))
		if err != nil {
			t.Error(err)
			return
		}
		buf := make([]byte, 8)
		read := func() (string, error) {
			n, err := resp.Body.Read(buf[:4])
			return string(buf[:n]), err
		}
		testenv.Gives(t, "1234", nil)(read())
		body.close = func() { testenv.Gives(t, "5678", nil)(read()) }
		testenv.OK(t, resp.Body.Close())
	})
}
