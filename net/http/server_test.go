package http_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	stdhttp "net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// serve serves with s on a listener of netco until the end of the test, in a
// coroutine, and returns the address.
func serve(t testing.TB, s *http.Server) string {
	t.Helper()
	l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	ended := make(chan error, 1)
	testenv.Must(netco.Go(func() { ended <- s.Serve(l) }))
	t.Cleanup(func() {
		s.Close()
		testenv.Fails(t, testenv.Await(t, ended, "Serve"), http.ErrServerClosed)
	})
	return l.Addr().String()
}

// standard is serve with net/http's server.
func standard(t testing.TB, s *stdhttp.Server) string {
	t.Helper()
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// quiet is a log that drops its lines.
var quiet = log.New(io.Discard, "", 0)

// both serves a handler by this package and by net/http, and returns their
// addresses.
func both(t testing.TB, h http.Handler) (ours, theirs string) {
	t.Helper()
	return serve(t, &http.Server{Handler: h, ErrorLog: quiet}),
		standard(t, &stdhttp.Server{Handler: h, ErrorLog: quiet})
}

// dial connects, for as long as the test runs.
func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	c := testenv.Closing(t, testenv.Must(net.Dial("tcp", addr)))
	c.SetDeadline(time.Now().Add(testenv.Limit))
	return c.(*net.TCPConn)
}

// talk sends the parts one after the other, half-closes and returns the whole
// answer without the values of Date.
func talk(addr string, parts ...[]byte) (string, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(testenv.Limit))
	for _, p := range parts {
		if _, err := c.Write(p); err != nil {
			break // it has answered and closed
		}
	}
	c.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		return "", err
	}
	return dates.ReplaceAllString(string(all), ""), nil
}

var dates = regexp.MustCompile(`(?m)^Date: .*\n`)

// shows is a handler that answers with a description of the request, in the way
// that the query says.
func shows(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s %q %s close=%v length=%d te=%v\n", r.Method, r.URL, r.Proto, r.Host,
		r.RequestURI, r.Close, r.ContentLength, r.TransferEncoding)
	for _, k := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %q\n", k, r.Header[k])
	}
	q := r.URL.Query()
	if q.Get("read") != "no" {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(&b, "body %q %v\n", body, errorText(err))
		for _, k := range slices.Sorted(maps.Keys(r.Trailer)) {
			fmt.Fprintf(&b, "trailer %s: %q\n", k, r.Trailer[k])
		}
	}
	reply(w, q, b.Bytes())
}

func errorText(err error) string {
	switch {
	case err == nil:
		return "-"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut"
	}
	return "error"
}

// reply answers in the way that q says.
func reply(w http.ResponseWriter, q map[string][]string, b []byte) {
	for _, line := range q["header"] {
		k, v, _ := strings.Cut(line, ":")
		w.Header().Add(k, v)
	}
	for _, code := range q["code"] {
		n, _ := strconv.Atoi(code)
		w.WriteHeader(n)
	}
	for _, how := range q["how"] {
		switch how {
		case "flush":
			w.(http.Flusher).Flush()
		case "late":
			w.Header().Set("Late", "1")
		case "long":
			b = bytes.Repeat(b, 2049/len(b)+1)
		case "huge":
			b = bytes.Repeat([]byte("0123456789abcdef"), 1<<13)
		case "none":
			return
		case "parts":
			for len(b) > 10 {
				w.Write(b[:10])
				b = b[10:]
			}
		case "copy":
			io.Copy(w, bytes.NewReader(b))
			return
		case "string":
			//lint:ignore SA6006 WriteString is what is tested
			io.WriteString(w, string(b))
			return
		case "panic":
			panic(http.ErrAbortHandler)
		}
	}
	w.Write(b)
}

// sameAnswer sends the same to both servers and compares the answers.
func sameAnswer(t testing.TB, ours, theirs string, parts ...[]byte) (same bool) {
	t.Helper()
	want, werr := talk(theirs, parts...)
	got, err := talk(ours, parts...)
	if got != want || (err == nil) != (werr == nil) {
		t.Errorf("%q\n%s, %v\nnet/http:\n%s, %v", parts, got, err, want, werr)
		return false
	}
	return true
}

// requests are those that the standard server answers in its own way. The file
// has one a line, quoted.
var requests = sync.OnceValue(func() (all []string) {
	for line := range strings.Lines(string(testenv.Must(os.ReadFile("testdata/requests.txt")))) {
		all = append(all, testenv.Must(strconv.Unquote(strings.TrimSpace(line))))
	}
	const post = "POST /?read=no HTTP/1.1\r\nHost: a\r\nContent-Length: "
	return append(all,
		"GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("y", 5000)+"\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n"+strings.Repeat("x", 5000),
		post+"300000\r\n\r\n"+strings.Repeat("x", 300000),
		post+"200000\r\n\r\n"+strings.Repeat("x", 200000)+"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	)
})

// TestAnswers: the answers are net/http's, to requests that come whole, byte by
// byte, and behind another.
func TestAnswers(t *testing.T) {
	testrun.Start(t, 2)
	ours, theirs := both(t, http.HandlerFunc(shows))
	for i, r := range requests() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if !sameAnswer(t, ours, theirs, []byte(r)) || len(r) > 1000 {
				return
			}
			sameAnswer(t, ours, theirs, []byte("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"+r))
			var bytewise [][]byte
			for i := range len(r) {
				bytewise = append(bytewise, []byte(r[i:i+1]))
			}
			sameAnswer(t, ours, theirs, bytewise...)
		})
	}
}

// TestReadFromTooLong: ReadFrom sends no more than the declared length, and
// returns Write's error.
func TestReadFromTooLong(t *testing.T) {
	testrun.Start(t, 1)
	const length = 600 // longer than what is read for the content type
	for _, most := range []int64{0, length, 2 * length} {
		handler := func(w http.ResponseWriter, _ *http.Request) {
			src := io.Reader(strings.NewReader(strings.Repeat("a", 2*length)))
			if most > 0 {
				src = io.LimitReader(src, most)
			}
			w.Header().Set("Content-Length", fmt.Sprint(length))
			n, err := w.(io.ReaderFrom).ReadFrom(src)
			if n != length || (err == http.ErrContentLength) != (most != length) {
				t.Errorf("limit %d: sent %d, %v", most, n, err)
			}
		}
		addr := serve(t, &http.Server{Handler: http.HandlerFunc(handler)})
		res := testenv.Must(stdhttp.Get("http://" + addr))
		testenv.Equal(t, len(testenv.Must(io.ReadAll(res.Body))), length)
		res.Body.Close()
	}
}

// TestHTTPTest: httptest's server takes this package's handlers.
func TestHTTPTest(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(shows))
	defer s.Close()
	res := testenv.Must(s.Client().Get(s.URL))
	res.Body.Close()
	testenv.Equal(t, res.StatusCode, http.StatusOK)
}

// TestDate: each answer has the time at which it began, though its line is kept
// from the answer before.
func TestDate(t *testing.T) {
	testrun.Start(t, 1)
	c := dial(t, serve(t, &http.Server{Handler: http.NotFoundHandler()}))
	in := bufio.NewReader(c)
	for first, again := time.Now().Unix(), false; !again; time.Sleep(50 * time.Millisecond) {
		again = time.Now().Unix() > first
		earliest := time.Now().Truncate(time.Second)
		testenv.Must(io.WriteString(c, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"))
		answer := testenv.Must(http.ReadResponse(in, &http.Request{Method: http.MethodHead}))
		date, err := http.ParseTime(answer.Header.Get("Date"))
		if err != nil || date.Before(earliest) || date.After(time.Now()) {
			t.Errorf("Date %v after %v: %v", date, earliest, err)
		}
	}
}
