package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	stdhttp "net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
	"github.com/netco-go/netco/processor"
)

// blocker is a Server on one Processor whose pattern /blocks waits in a Go
// channel until another request was served, which needs the Processor.
type blocker struct {
	server *http.Server
	addr   string
	logs   lines
	free   chan bool // a value lets a call of /blocks end
	on     chan bool // what it runs on: true for a coroutine
}

// lines is the output of a log.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func newBlocker(t *testing.T, stayLimit time.Duration) *blocker {
	needsHandoff(t)
	testrun.Start(t, 1)
	b := &blocker{logs: make(lines, 10), free: make(chan bool), on: make(chan bool, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/quick", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, coroutine.Current() != nil)
	})
	mux.HandleFunc("/blocks", func(w http.ResponseWriter, r *http.Request) {
		b.on <- coroutine.Current() != nil
		switch r.FormValue("how") {
		case "panic":
			panic("a panic on a goroutine")
		case "gone":
			<-r.Context().Done()
			b.free <- true
			return
		case "hijack":
			c, _, err := w.(http.Hijacker).Hijack()
			testenv.NoError(t, err)
			io.WriteString(c, "hijacked")
			c.Close()
			return
		}
		<-b.free
		io.Copy(w, r.Body)
	})
	b.server = &http.Server{Handler: mux, ErrorLog: log.New(b.logs, "", 0)}
	b.server.SetStayLimit(stayLimit)
	b.addr = serve(t, b.server)
	return b
}

// ask sends a request and returns a reader of its answer, and whether the
// handler runs as a coroutine.
func (b *blocker) ask(t *testing.T, request string) (in *bufio.Reader, coroutine bool) {
	c := dial(t, b.addr)
	testenv.Must(io.WriteString(c, request))
	return bufio.NewReader(c), testenv.Await(t, b.on, "the handler")
}

// quick sends a request of the other pattern, which runs as a coroutine on the
// same Processor.
func (b *blocker) quick(t *testing.T) {
	t.Helper()
	c := dial(t, b.addr)
	testenv.Must(io.WriteString(c, "GET /quick HTTP/1.0\r\n\r\n"))
	all, err := io.ReadAll(c)
	testenv.NoError(t, err)
	if !strings.HasSuffix(string(all), "true") {
		t.Errorf("the other pattern: %q", all)
	}
}

// learn calls /blocks until its calls run on goroutines, and stay there.
func (b *blocker) learn(t *testing.T) {
	const post = "POST /blocks HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
	for n := range 48 {
		in, on := b.ask(t, post)
		b.quick(t) // so the Processor went on
		b.free <- true
		res := testenv.Must(http.ReadResponse(in, nil))
		testenv.Equal(t, string(testenv.Must(io.ReadAll(res.Body))), "hi")
		if on && n >= 8 {
			t.Fatalf("call %d: it has not learned that the handler blocks", n)
		}
	}
}

// TestHabits: a pattern that blocks is called on goroutines before long, the
// others stay in coroutines; and there, too, it ends as with net/http.
func TestHabits(t *testing.T) {
	const get = "GET /blocks?how=%s HTTP/1.1\r\nHost: a\r\n\r\n"
	b := newBlocker(t, time.Second)
	b.learn(t)
	b.quick(t)
	for how, want := range map[string]string{"panic": "", "hijack": "hijacked"} {
		in, on := b.ask(t, fmt.Sprintf(get, how))
		all, err := io.ReadAll(in)
		if string(all) != want || err != nil || on {
			t.Errorf("%s: %q, %v, a coroutine %v", how, all, err, on)
		}
	}
	logs := testenv.Await(t, b.logs, "the panic in the log")
	if !strings.Contains(logs, "panic serving") ||
		!strings.Contains(logs, "a panic on a goroutine") ||
		!strings.Contains(logs, "habits_test.go") {
		t.Errorf("logged: %s", logs)
	}
	c := dial(t, b.addr)
	testenv.Must(fmt.Fprintf(c, get, "gone"))
	testenv.Await(t, b.on, "the handler")
	c.Close()
	testenv.Await(t, b.free, "the end of its context")
	// Requests one after the other, on one connection.
	c = dial(t, b.addr)
	testenv.Must(fmt.Fprintf(c, get+get, "", ""))
	in := bufio.NewReader(c)
	for range 2 {
		testenv.Await(t, b.on, "the handler")
		b.free <- true
		testenv.Equal(t, testenv.Must(stdhttp.ReadResponse(in, nil)).StatusCode, 200)
	}
}

// stay returns a new connection after calls of /blocks.
func (b *blocker) stay(t *testing.T, calls int) net.Conn {
	c := dial(t, b.addr)
	b.call(t, c, calls)
	return c
}

// call makes n calls of /blocks on a connection, whose goroutine waits for the
// last ones: the third comes while a coroutine computes on the Processor, and
// the fourth without an event there.
func (b *blocker) call(t *testing.T, c net.Conn, n int) {
	t.Helper()
	in := bufio.NewReader(c)
	var answered atomic.Bool
	var events *epoller.Stats
	var before uint64
	defer answered.Store(true)
	for n := range n {
		if computes := make(chan bool); n == 2 {
			testenv.Must(netco.Go(func() {
				events = processor.Current().Events()
				for close(computes); !answered.Load(); {
				}
			}))
			<-computes
		}
		if n == 3 {
			answered.Store(true)
			b.quick(t) // so it has polled
			before = events.Events.Load()
		}
		testenv.Must(io.WriteString(c, "GET /blocks HTTP/1.1\r\nHost: a\r\n\r\n"))
		testenv.Equal(t, testenv.Await(t, b.on, "the handler"), false, "a coroutine")
		b.free <- true
		testenv.Equal(t, testenv.Must(stdhttp.ReadResponse(in, nil)).StatusCode, 200)
	}
	if n == 4 {
		testenv.Equal(t, events.Events.Load(), before, "events")
	}
}

// TestStaysOnGoroutine: a connection whose handlers block waits for requests on
// a goroutine, and needs no Processor, until a handler of another pattern was
// called or the connection is idle for long. It ends as others do.
func TestStaysOnGoroutine(t *testing.T) {
	ended := func(c net.Conn) {
		t.Helper()
		testenv.Gives(t, "", nil)(testenv.AsText(io.ReadAll(c)))
	}
	t.Run("", func(t *testing.T) {
		b := newBlocker(t, time.Hour)
		b.learn(t)
		alone := runtime.NumGoroutine()
		c := b.stay(t, 4)
		for _, want := range []string{"false", "true"} {
			res := ask(t, c, bufio.NewReader(c), "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n")
			testenv.Gives(t, want, nil, "a coroutine")(testenv.AsText(io.ReadAll(res.Body)))
		}
		b.call(t, c, 4) // its fd has left the goroutines' epoll, and comes again
		c.Close()
		testenv.Settle(t, alone)
		b.stay(t, 4).Close()
		testenv.Settle(t, alone)
		for how, want := range map[string]string{"panic": "", "hijack": "hijacked"} {
			c := b.stay(t, 4)
			testenv.Must(fmt.Fprintf(c, "GET /blocks?how=%s HTTP/1.1\r\nHost: a\r\n\r\n", how))
			testenv.Equal(t, testenv.Await(t, b.on, "the handler"), false, how, "a coroutine")
			testenv.Gives(t, want, nil, how)(testenv.AsText(io.ReadAll(c)))
			testenv.Settle(t, alone)
		}
		c = b.stay(t, 4)
		b.server.SetKeepAlivesEnabled(false)
		ended(c)
	})
	t.Run("idle", func(t *testing.T) {
		b := newBlocker(t, 100*time.Millisecond)
		b.learn(t)
		alone := runtime.NumGoroutine()
		c := b.stay(t, 2)
		testenv.Settle(t, alone) // a Watch waits
		testenv.OK(t, b.server.Shutdown(context.Background()))
		ended(c)
	})
	for name, end := range map[string]func(*http.Server) error{
		"Shutdown":  func(s *http.Server) error { return s.Shutdown(context.Background()) },
		"Close":     (*http.Server).Close,
		"Scheduler": func(*http.Server) error { return netco.Shutdown(context.Background()) },
		"by force": func(*http.Server) error {
			if err := netco.Shutdown(testenv.Over()); err != context.Canceled {
				return fmt.Errorf("Shutdown: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBlocker(t, time.Hour)
			b.learn(t)
			c := b.stay(t, 4)
			testenv.OK(t, end(b.server))
			ended(c)
		})
	}
}

// TestProbes: the longer a handler has blocked, the rarer are calls that try a
// coroutine. Once such a call does not block they are frequent, until all calls
// are coroutines again. A try that falls to a connection on a goroutine is left
// to the next call of another.
func TestProbes(t *testing.T) {
	var h http.Habit
	calls := func() (n int) { // on goroutines, before one on a coroutine
		for h.Blocks(false) {
			if n++; n > 1<<17 {
				t.Fatal("no call tries a coroutine")
			}
		}
		return n
	}
	for range 12 { // to the highest score
		h.Note(true)
	}
	var seen []int
	for n := range 16 {
		seen = append(seen, calls())
		h.Note(n < 9)
	}
	for range 8 {
		h.Note(true)
	}
	var tries []string
	for n, onGoroutine := range append(slices.Repeat([]bool{true}, 600), false, false) {
		if !h.Blocks(onGoroutine) {
			tries = append(tries, fmt.Sprint(n, onGoroutine))
		}
	}
	testenv.Equal(t, fmt.Sprint(tries), "[511 true 600 false]", "after goroutines' calls")
	testenv.Equal(t, fmt.Sprint(seen), "[511 511 1023 2047 4095 8191 16383 32767 65535 65535 "+
		"511 511 511 511 0 0]")
}
