package http_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	stdhttp "net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net/http"
)

// TestServerHammer: clients pipeline requests, in pieces, and leave when they
// like; handlers park, block, panic and hijack; system calls fail, or do less
// than asked; and at some moment everything ends in one of several ways. Until
// then each request gets its own answer, whole, and nothing remains of any.
func TestServerHammer(t *testing.T) {
	needsHandoff(t)
	defer http.SetResetDelay(5 * time.Millisecond)()
	seed := testenv.Seed(t)
	for i := range testenv.Rounds(100) {
		s := &served{T: t, rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
		before := testenv.Snapshot()
		s.run()
		testenv.OK(t, before.Leaks())
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

// served is a Server, its clients, and the choices that they make.
type served struct {
	*testing.T
	mu     sync.Mutex
	rnd    *rand.Rand  // under mu
	ending atomic.Bool // answers may stay out
	over   atomic.Bool // no further sessions
}

// n returns a number below k.
func (s *served) n(k int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(k)
}

// short returns a time of less than d.
func (s *served) short(d time.Duration) time.Duration { return time.Duration(s.n(int(d))) }

func (s *served) run() {
	if s.n(2) == 0 {
		defer sysx.Inject(faults)()
	}
	testrun.StartWith(s.T, netco.Options{Processors: 1 + s.n(3), PoolCap: s.n(5), Quiet: true,
		OnPanic: func(netco.PanicInfo) {}})
	server := &http.Server{Handler: http.HandlerFunc(s.handle), ErrorLog: quiet}
	l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	ended := make(chan error, 1)
	testenv.Must(netco.Go(func() { ended <- server.Serve(l) }))
	var clients sync.WaitGroup
	for range 1 + s.n(12) {
		clients.Go(func() {
			for !s.over.Load() && s.session(l.Addr().String()) == nil {
			}
		})
	}
	time.Sleep(s.short(50 * time.Millisecond))
	s.ending.Store(true)
	soon, cancel := context.WithTimeout(context.Background(), s.short(20*time.Millisecond))
	defer cancel()
	switch s.n(4) {
	case 0:
		time.AfterFunc(time.Millisecond, func() { s.over.Store(true) })
		testenv.OK(s, server.Shutdown(context.Background()))
	case 1:
		server.Shutdown(soon)
		server.Close()
	case 2:
		server.Close()
	case 3:
		netco.Shutdown(soon)
	}
	testenv.Fails(s, testenv.Await(s, ended, "Serve"), http.ErrServerClosed)
	s.over.Store(true)
	clients.Wait()
	testrun.Shutdown(s.T)
}

// faults is a sysx.Injector of what a loaded machine does.
func faults(op sysx.Op, _, asked int) (limit int, errno syscall.Errno) {
	switch k := rand.IntN(100); {
	case k < 10:
		return 1 + rand.IntN(max(asked, 1)), 0
	case k > 10:
	case op == sysx.Accept:
		return asked, []syscall.Errno{syscall.EMFILE, syscall.ECONNABORTED}[rand.IntN(2)]
	case op == sysx.Recv || op == sysx.Send || op == sysx.EpollWait:
		return asked, syscall.EINTR
	}
	return asked, 0
}

// text returns n bytes that no other request has.
func text(id string, n int) []byte {
	return bytes.Repeat([]byte(id+"."), n/(len(id)+1)+1)[:n]
}

// handle answers in one of the ways that a request's path names.
func (s *served) handle(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Id")
	w.Header().Set("X-Id", id)
	n, _ := strconv.Atoi(r.FormValue("n"))
	body := text(id, n)
	switch r.URL.Path {
	case "/sleep":
		netco.Sleep(s.short(time.Millisecond))
	case "/block":
		time.Sleep(s.short(time.Millisecond))
	case "/echo":
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	case "/flush":
		for len(body) > 0 {
			part := body[:1+s.n(len(body))]
			body = body[len(part):]
			w.Write(part)
			w.(http.Flusher).Flush()
			netco.Yield()
		}
	case "/end":
		if s.n(2) == 0 {
			runtime.Goexit()
		}
		panic("a handler's")
	case "/hijack":
		s.hijack(w, id)
		return
	}
	w.Write(body)
}

// hijack answers in the Server's place, here or beside it.
func (s *served) hijack(w http.ResponseWriter, id string) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.Error(err)
		return
	}
	answer := func() {
		defer c.Close()
		fmt.Fprintf(rw, "HTTP/1.1 299 Taken\r\nX-Id: %s\r\nContent-Length: 0\r\n\r\n", id)
		rw.Flush()
		line, _ := rw.ReadString('\n')
		io.WriteString(c, line)
	}
	switch s.n(3) {
	case 0:
		answer()
	case 1:
		go answer()
	case 2:
		if _, err := netco.Go(answer); err != nil {
			answer()
		}
	}
}

// session sends some requests on a connection. An error says that the Server
// has closed its listener.
func (s *served) session(addr string) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(testenv.Limit))
	in := bufio.NewReader(nc)
	for range 1 + s.n(5) {
		var all []byte
		var asked []*stdhttp.Request
		for range 1 + s.n(4) {
			r, id := new(bytes.Buffer), fmt.Sprint(s.n(1e9))
			path := []string{"/", "/sleep", "/block", "/echo", "/flush", "/end", "/hijack"}[s.n(7)]
			body := text(id, s.n(3)*s.n(3000))
			if path == "/hijack" {
				body = nil
			}
			req := testenv.Must(stdhttp.NewRequest("POST", fmt.Sprintf("http://a%s?n=%d", path,
				s.n(3)*s.n(30_000)), bytes.NewReader(body)))
			req.Header.Set("X-Id", id)
			if len(body) > 0 && s.n(2) == 0 {
				req.ContentLength = -1
			}
			testenv.OK(s, req.Write(r))
			req.Body = io.NopCloser(bytes.NewReader(body))
			all, asked = append(all, r.Bytes()...), append(asked, req)
			if path == "/end" || path == "/hijack" {
				break
			}
		}
		if s.n(20) == 0 {
			nc.Write(all[:s.n(len(all))])
			return nil
		}
		written := make(chan bool)
		go func() {
			defer close(written)
			for len(all) > 0 {
				n := min(len(all), 1+s.n(20_000))
				nc.Write(all[:n])
				all = all[n:]
			}
		}()
		kept := s.answers(nc, in, asked)
		if !kept {
			nc.Close()
		}
		<-written
		if !kept {
			return nil
		}
	}
	return nil
}

// answers reads the answers to requests, and reports whether the connection
// goes on.
func (s *served) answers(nc net.Conn, in *bufio.Reader, asked []*stdhttp.Request) bool {
	for _, r := range asked {
		id, path := r.Header.Get("X-Id"), r.URL.Path
		resp, err := stdhttp.ReadResponse(in, r)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(resp.Body)
		}
		switch {
		case err != nil && (path == "/end" || s.ending.Load()):
			return false
		case err != nil || path == "/end":
			s.Errorf("%s: %v", path, err)
			return false
		case resp.Header.Get("X-Id") != id:
			s.Errorf("%s: %s got the answer of %s", path, id, resp.Header.Get("X-Id"))
			return false
		case path == "/hijack":
			io.WriteString(nc, id+"\n")
			if line, err := in.ReadString('\n'); line != id+"\n" && !s.ending.Load() {
				s.Errorf("after the hijack: %q, %v", line, err)
			}
			return false
		}
		n, _ := strconv.Atoi(r.FormValue("n"))
		want := text(id, n)
		if path == "/echo" {
			want, _ = io.ReadAll(r.Body)
		}
		if !bytes.Equal(got, want) {
			s.Errorf("%s: %d bytes, want %d", path, len(got), len(want))
		}
		if resp.Close {
			return false
		}
	}
	return true
}
