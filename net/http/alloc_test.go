package http_test

import (
	"bufio"
	"io"
	"net"
	stdhttp "net/http"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// greets answers by ServeMux, as most servers do.
func greets() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello, world\n")
	})
	return mux
}

// perRequest counts what a request allocates on one connection.
func perRequest(t testing.TB, addr, request string) float64 {
	t.Helper()
	c := dial(t, addr)
	in := bufio.NewReader(c)
	buf := []byte(request)
	answer := make([]byte, 4096)
	one := func() {
		testenv.Must(c.Write(buf))
		testenv.Must(in.Read(answer))
	}
	one()
	return testenv.Allocs(200, one)
}

// TestAllocations: a request allocates at most half of what it does with
// net/http.
func TestAllocations(t *testing.T) {
	testenv.NoRace(t)
	testrun.Start(t, 1)
	ours, theirs := both(t, greets())
	for name, request := range map[string]string{
		"short": "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"browser": "GET /hello HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0\r\nAccept: " +
			"text/html\r\nAccept-Encoding: gzip\r\nAccept-Language: en\r\nCookie: a=b\r\n" +
			"Connection: keep-alive\r\n\r\n",
	} {
		got, want := perRequest(t, ours, request), perRequest(t, theirs, request)
		t.Logf("%s: %v, net/http %v", name, got, want)
		if got > want/2 {
			t.Errorf("%s: %v allocations, net/http %v", name, got, want)
		}
	}
}

// BenchmarkHello is a request at a time on one connection, whose client is the
// same for both servers.
func BenchmarkHello(b *testing.B) {
	for name, serve := range map[string]func() net.Listener{
		"netco": func() net.Listener {
			l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
			testenv.Must(netco.Go(func() { http.Serve(l, greets()) }))
			return l
		},
		"std": func() net.Listener {
			l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
			go stdhttp.Serve(l, greets())
			return l
		},
	} {
		b.Run(name, func(b *testing.B) {
			testrun.Start(b, 1)
			l := serve()
			defer l.Close()
			c := dial(b, l.Addr().String())
			request := []byte("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
			answer := make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				testenv.Must(c.Write(request))
				testenv.Must(c.Read(answer))
			}
		})
	}
}
