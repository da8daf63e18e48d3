package http_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// TestSmuggling: what two parsers could take for different requests is refused,
// or understood, as by net/http; and never as more requests than that. Others
// are answered meanwhile, as beside all attacks here.
func TestSmuggling(t *testing.T) {
	testrun.Start(t, 2)
	ours, theirs := both(t, http.HandlerFunc(shows))
	defer beside(t, ours)()
	const next = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, head := range map[string]string{
		"CL.TE": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"TE.CL": "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5\r\nhello" +
			"\r\n0\r\n\r\n",
		"TE twice":          "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
		"TE obscured":       "Transfer-Encoding: \tchunked\r\n\r\n0\r\n\r\n",
		"TE of 1.1 in list": "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
		"TE with a space":   "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"obs-fold":          "Content-Length:\r\n 5\r\n\r\nhello",
		"bare LF":           "X: y\nContent-Length: 5\r\n\r\nhello",
		"bare CR":           "X: y\rContent-Length: 5\r\n\r\n",
		"bare LF in chunks": "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
		"CL twice":          "Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello",
		"CL signed":         "Content-Length: +5\r\n\r\nhello",
		"CL in a list":      "Content-Length: 5, 5\r\n\r\nhello",
		"chunk extension":   "Transfer-Encoding: chunked\r\n\r\n5;x=\"\n\"\r\nhello\r\n0\r\n\r\n",
		"long extension": "Transfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", 5000) +
			"\r\nhello\r\n0\r\n\r\n",
		"chunk too long": "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
		"chunk of 2^64": "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello" +
			"\r\n0\r\n\r\n",
		"trailer with CL":  "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 40\r\n\r\n",
		"NUL in a name":    "X\x00: y\r\n\r\n",
		"no colon":         "X y\r\n\r\n",
		"Host twice":       "Host: b\r\n\r\n",
		"empty first line": "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			sameAnswer(t, ours, theirs, []byte("POST / HTTP/1.1\r\nHost: a\r\n"+head+next))
		})
	}
}

// TestFloods: heads without an end are refused as by net/http, and the memory
// that they take is bounded.
func TestFloods(t *testing.T) {
	testrun.Start(t, 2)
	ours := serve(t, &http.Server{Handler: http.HandlerFunc(shows), MaxHeaderBytes: 10000})
	theirs := standard(t, &stdhttp.Server{Handler: http.HandlerFunc(shows), MaxHeaderBytes: 10000})
	defer beside(t, ours)()
	for name, flood := range map[string]string{
		"target": "GET /" + strings.Repeat("x", 20000),
		"field":  "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 20000),
		"fields": "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 5000) + "\r\n",
		"folds":  "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n" + strings.Repeat(" z\r\n", 5000) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				want, _ := talk(theirs, []byte(flood))
				got, _ := talk(ours, []byte(flood))
				if got == want && strings.HasPrefix(got, "HTTP/1.1 431") {
					return
				}
			}
			t.Error("it is not answered as by net/http, with 431")
		})
	}
	const most = http.DefaultMaxHeaderValueCount
	for name, test := range map[string]struct{ head, want string }{
		"values":   {strings.Repeat("X: y\r\n", most) + "\r\n", "HTTP/1.1 431"},
		"no end":   {strings.Repeat("X: y\r\n", most+1), "HTTP/1.1 431"},
		"the most": {strings.Repeat("X: y\r\n", most-1) + "\r\n", "HTTP/1.1 200"},
		"folded":   {"X: y\r\n" + strings.Repeat(" z\r\n", most) + "\r\n", "HTTP/1.1 200"},
		"body": {"Content-Length: 2000\r\n\r\n" + strings.Repeat("x\n", 2*most),
			"HTTP/1.1 200"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := talk(ours, []byte("POST /%61 HTTP/1.1\r\nHost: a\r\n"+test.head))
			testenv.NoError(t, err)
			testenv.Equal(t, got[:min(len(got), len(test.want))], test.want)
		})
	}
}

// TestLongLines: requests whose lines are longer than the buffers, and what
// follows them, are understood as by net/http.
func TestLongLines(t *testing.T) {
	testrun.Start(t, 1)
	ours, theirs := both(t, http.HandlerFunc(shows))
	for _, n := range []int{4 << 10, 5000, 36 << 10, 80_000} {
		long := strings.Repeat("x", n)
		for name, head := range map[string]string{
			"target": "POST /" + long + " HTTP/1.1\r\nHost: a\r\n",
			"field":  "POST / HTTP/1.1\r\nHost: a\r\nX: " + long + "\r\n",
			"fold":   "POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n " + long + "\r\n",
			"space":  "POST / HTTP/1.1\r\n " + long + "\r\n",
			"no end": "POST /" + long,
		} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				rest := head + "Content-Length: 5\r\n\r\nhello" + strings.Repeat(plain, 150)
				sameAnswer(t, ours, theirs, []byte(rest))
				sameAnswer(t, ours, theirs, []byte(rest[:n/2]), []byte(rest[n/2:]))
				sameAnswer(t, ours, theirs, []byte(head))
			})
		}
	}
	// In some of these a request ends where the buffer does, and more was read.
	for pad := range len(plain) {
		head := "GET /" + strings.Repeat("x", 9000+pad) + " HTTP/1.1\r\nHost: a\r\n\r\n"
		sameAnswer(t, ours, theirs, []byte(head+strings.Repeat(plain, 300)))
	}
}

// beside has others ask meanwhile. The result waits for them.
func beside(t *testing.T, addr string) (wait func()) {
	answered := make(chan bool)
	go func() {
		defer close(answered)
		others(t, addr)
	}()
	return func() { testenv.Await(t, answered, "the others") }
}

// others are 50 clients with 20 requests each, all of which are answered.
func others(t *testing.T, addr string) {
	t.Helper()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for range 20 {
				io.WriteString(c, plain)
				res, err := http.ReadResponse(in, nil)
				if err != nil || res.StatusCode != 200 {
					t.Error(res, err)
					return
				}
				io.Copy(io.Discard, res.Body)
			}
		})
	}
	all.Wait()
}

// TestSlowClients: connections whose request does not come, whose body does
// not, and which do not read what answers them keep no other from its answer,
// and time ends all of them.
func TestSlowClients(t *testing.T) {
	testrun.Start(t, 1)
	var closed atomic.Int32
	s := &http.Server{ReadTimeout: 2 * time.Second, WriteTimeout: time.Second,
		IdleTimeout: time.Minute, ErrorLog: quiet} // others may be slow on a busy machine
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed.Add(1)
		}
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if r.URL.Path == "/huge" {
			for range 1 << 10 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}
	})
	addr := serve(t, s)
	const slow = 150
	for i := range slow {
		testenv.Must(io.WriteString(dial(t, addr), []string{
			"GET / HTTP/1.1\r\nHo",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx",
			"GET /huge HTTP/1.1\r\nHost: a\r\n\r\n",
		}[i%3]))
	}
	others(t, addr)
	testenv.Until(t, "all are closed", func() bool { return closed.Load() == slow+50 })
}

// TestIdleMemory: what an idle connection holds on the server's side.
func TestIdleMemory(t *testing.T) {
	testenv.NoRace(t)
	testrun.Start(t, 1)
	addr := serve(t, &http.Server{Handler: greets()})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	const conns = 1000
	open := func() (all []net.Conn) {
		buf := make([]byte, 4096)
		for range conns {
			c := dial(t, addr)
			testenv.Must(fmt.Fprint(c, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"))
			testenv.Must(c.Read(buf))
			all = append(all, c)
		}
		return all
	}
	warm := open()
	before := heap()
	all := open()
	after := heap()
	each := float64(after-before) / conns
	// The client's end is a connection of package net: some 500 bytes.
	t.Logf("%.0f bytes for each connection, both ends", each)
	if each > 3<<10 {
		t.Errorf("%.0f bytes for each connection", each)
	}
	runtime.KeepAlive(warm)
	runtime.KeepAlive(all)
}
