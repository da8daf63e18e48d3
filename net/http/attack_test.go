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
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// TestSmuggling: bytes that two parsers could take for different requests are
// refused, or understood, as by net/http; and never as more requests than that.
// Others are answered meanwhile, as beside all attacks here.
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
}

// TestLongLines: requests whose lines are longer than the buffers, and the
// requests behind them, are understood as by net/http.
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
		head := "GET /" + strings.Repeat("x", 4000+pad) + " HTTP/1.1\r\nHost: a\r\n\r\n"
		sameAnswer(t, ours, theirs, []byte(head+strings.Repeat(plain, 300)))
	}
}

// beside starts others. The function that it returns waits for them.
func beside(t *testing.T, addr string) (wait func()) {
	answered := make(chan bool)
	go func() {
		defer close(answered)
		others(t, addr)
	}()
	return func() { testenv.Await(t, answered, "the others") }
}

// crowd is how many others there are: 50 at full length.
func crowd() int { return max(10, testenv.Rounds(50)) }

// others are a crowd of clients with ten requests each, all of which are
// answered.
func others(t *testing.T, addr string) {
	t.Helper()
	var all sync.WaitGroup
	for range crowd() {
		all.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for range 10 {
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

// TestIdleMemory bounds the memory of an idle connection.
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
	const conns = 200 // 800 fds: a process may have no more than 1,024
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
	each := (float64(after) - float64(before)) / conns
	// The client's end is a connection of package net: some 500 bytes.
	t.Logf("%.0f bytes for each connection, both ends", each)
	if each > 3<<10 {
		t.Errorf("%.0f bytes for each connection", each)
	}
	runtime.KeepAlive(warm)
	runtime.KeepAlive(all)
}
