package http_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// counting is a server that counts its connections, and answers with the number
// of the connection that a request came by.
func counting(t *testing.T, h http.HandlerFunc) (s *httptest.Server, conns *atomic.Int64) {
	conns = new(atomic.Int64)
	s = httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state stdhttp.ConnState) {
		if state == stdhttp.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, conns
}

// getText returns the body of an answer, or the error.
func getText(c *http.Client, url string) string {
	resp, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

// TestReuse: connections are reused as the settings say.
func TestReuse(t *testing.T) {
	for _, c := range []struct {
		name      string
		transport *http.Transport
		want      int64 // connections for four requests
	}{
		{"kept", &http.Transport{}, 1},
		{"not kept", &http.Transport{DisableKeepAlives: true}, 4},
		{"no idle ones", &http.Transport{MaxIdleConnsPerHost: -1}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, conns := counting(t, hello)
			client := &http.Client{Transport: c.transport}
			testrun.With(t, 1, func() {
				for range 4 {
					testenv.Equal(t, getText(client, s.URL), "hello")
				}
			})
			client.CloseIdleConnections()
			testenv.Equal(t, conns.Load(), c.want)
		})
	}
}

// TestIdleLimits: idle connections beyond the limits are closed, and so are
// connections that have been idle for too long.
func TestIdleLimits(t *testing.T) {
	for name, c := range map[string]struct {
		transport *http.Transport
		left      int64
	}{
		"of a host": {&http.Transport{MaxIdleConnsPerHost: 2}, 2},
		"of all":    {&http.Transport{MaxIdleConnsPerHost: 9, MaxIdleConns: 1}, 1},
		"in time": {&http.Transport{MaxIdleConnsPerHost: 9,
			IdleConnTimeout: 20 * time.Millisecond}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const crowd = 5
			var arrived sync.WaitGroup
			var open atomic.Int64
			arrived.Add(crowd)
			s := httptest.NewUnstartedServer(http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) {
					arrived.Done()
					arrived.Wait() // so there are as many connections
				}))
			s.Config.ConnState = func(_ net.Conn, state stdhttp.ConnState) {
				switch state {
				case stdhttp.StateNew:
					open.Add(1)
				case stdhttp.StateClosed:
					open.Add(-1)
				}
			}
			s.Start()
			defer s.Close()
			client := &http.Client{Transport: c.transport}
			defer client.CloseIdleConnections()
			testrun.Start(t, 1)
			var tasks []*testrun.Task
			for range crowd {
				tasks = append(tasks, testrun.First.Go(func() { getText(client, s.URL) }))
			}
			testrun.WaitAll(t, tasks...)
			testenv.Until(t, "the others to be closed", func() bool {
				return open.Load() == c.left
			})
		})
	}
}

// stale is a server that closes a connection after its first answer without
// announcing it, as one whose idle timeout has passed.
func stale(t *testing.T) (url string, closed <-chan bool, conns *atomic.Int64) {
	ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { ln.Close() })
	done := make(chan bool, 100)
	conns = new(atomic.Int64)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			c.Read(make([]byte, 4096))
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
			c.Close()
			done <- true
		}
	}()
	return "http://" + ln.Addr().String(), done, conns
}

// TestClosedWhileIdle: a connection that its server has closed is not used, not
// even for a request that could not be sent a second time.
func TestClosedWhileIdle(t *testing.T) {
	url, closed, conns := stale(t)
	client := &http.Client{Transport: &http.Transport{}}
	testrun.With(t, 1, func() {
		for range 3 {
			resp, err := client.Post(url, "text/plain", strings.NewReader("body"))
			if err != nil {
				t.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			<-closed
			netco.Sleep(time.Millisecond) // its Processor sees the end
		}
	})
	testenv.Equal(t, conns.Load(), int64(3))
}

// TestUnasked: bytes that a server sends without a request are no answer to the
// next request.
func TestUnasked(t *testing.T) {
	const reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, reply+"right"+reply+"wrong")
		io.Copy(io.Discard, c)
		c.Close()
	})
	client := &http.Client{Transport: &http.Transport{}}
	testrun.With(t, 1, func() {
		for range 3 {
			testenv.Equal(t, getText(client, s.URL), "right")
		}
	})
	client.CloseIdleConnections()
}

// slowBody is a body that is not in memory.
type slowBody struct {
	io.Reader
	closed atomic.Bool
}

func (b *slowBody) Close() error { b.closed.Store(true); return nil }

var errBody = errors.New("the body has failed")

// TestBodies: bodies of all kinds arrive, and are closed.
func TestBodies(t *testing.T) {
	s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, r.ContentLength, r.TransferEncoding, err)
	})
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	testrun.Start(t, 1)
	large := strings.Repeat("x", 99_999)
	for name, c := range map[string]struct {
		body   io.Reader
		length int64
		expect string
		want   string
	}{
		"small":            {strings.NewReader("body"), 4, "", "4 4 [] <nil>"},
		"large":            {strings.NewReader(large), 99_999, "", "99999 99999 [] <nil>"},
		"of no length":     {strings.NewReader("body"), -1, "", "4 -1 [chunked] <nil>"},
		"after a continue": {strings.NewReader("body"), 4, "100-continue", "4 4 [] <nil>"},
		"that fails": {io.MultiReader(strings.NewReader("x"), errReader{}), -1, "",
			errBody.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			testrun.First.Do(t, func() {
				body := &slowBody{Reader: c.body}
				req := testenv.Must(http.NewRequest("POST", s.URL, body))
				if req.ContentLength = c.length; c.expect != "" {
					req.Header.Set("Expect", c.expect)
				}
				got := ""
				if resp, err := client.Do(req); err != nil {
					got = err.Error()
				} else {
					text, _ := io.ReadAll(resp.Body)
					resp.Body.Close()
					got = string(text)
				}
				if !strings.Contains(got, c.want) || !body.closed.Load() {
					t.Errorf("%s, closed %v, want %s", got, body.closed.Load(), c.want)
				}
			})
		})
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBody }

// TestAsStandardClient: a library that takes the standard's Client gets one
// with the same Transport.
func TestAsStandardClient(t *testing.T) {
	s, conns := counting(t, hello)
	own := &http.Client{Transport: &http.Transport{}}
	defer own.CloseIdleConnections()
	testrun.With(t, 1, func() {
		testenv.Equal(t, getText(own, s.URL), "hello")
		resp, err := (*stdhttp.Client)(own).Get(s.URL)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	})
	testenv.Equal(t, conns.Load(), int64(1))
}
