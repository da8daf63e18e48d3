package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/child"
	"github.com/netco-go/netco/internal/testenv"
)

// TestMain runs the program itself when a test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	testenv.Main(m)
}

// limit is when a test gives up waiting. No test passes by waiting that long.
const limit = time.Minute

// site is a server in this process.
type site struct {
	*server
	web, lines string // addresses
}

// start starts a server that ends with the test. No client is dropped or slowed
// down, unless set says so.
func start(t *testing.T, set func(*limits)) *site {
	t.Helper()
	l := &limits{conns: 1000, rooms: 100, name: 24, text: 2000, queue: 256,
		lost: 1000, write: 30 * time.Second,
		grace: 10 * time.Second}
	if set != nil {
		set(l)
	}
	testenv.OK(t, netco.Start(netco.Options{Processors: 2, OnPanic: netco.KeepServing}))
	s := newServer(l)
	t.Cleanup(func() {
		s.end()
		native(t)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		testenv.NoError(t, netco.Shutdown(ctx))
	})
	lines := testenv.Must(s.serveLines("127.0.0.1:0"))
	web := testenv.Must(s.serveHTTP("127.0.0.1:0"))
	return &site{s, web.String(), lines.String()}
}

// clients returns how many there are.
func (s *site) clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.names)
}

// native checks that no coroutine has waited for a goroutine.
func native(t *testing.T) {
	t.Helper()
	waits := []string{"channel", "mutex", "wait",
		"sleep", "io"}
	for _, h := range testenv.Must(netco.Default()).Handoffs() {
		if slices.Contains(waits, h.Cause) {
			t.Errorf("handed on: %+v", h)
		}
	}
}

// peer is a plain client of either kind. It reads events as lines.
type peer struct {
	t testing.TB
	net.Conn
	in      io.Reader
	lines   *bufio.Reader // nil: a WebSocket
	pending []string
	name    string
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c := testenv.Must(net.Dial("tcp", addr))
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(limit))
	return c
}

// connect opens a client of a kind, lines or web, and names it.
func (s *site) connect(t testing.TB, kind, name string) *peer {
	t.Helper()
	p := &peer{t: t, name: name}
	if kind == "lines" {
		p.Conn = dial(t, s.lines)
		p.lines = bufio.NewReader(p.Conn)
		p.want(`\* welcome.*`)
	} else {
		p.Conn = dial(t, s.web)
		p.in = p.Conn
		br, _, err := ws.Dialer{}.Upgrade(p.Conn, &url.URL{Scheme: "ws", Host: s.web, Path: "/ws"})
		testenv.OK(t, err)
		if br != nil {
			p.in = io.MultiReader(bytes.NewReader(testenv.Must(br.Peek(br.Buffered()))), p.Conn)
		}
	}
	p.say("/nick " + name)
	p.want(`\* guest-\d+ is now ` + name)
	return p
}

func (p *peer) CloseWrite() { p.Conn.(*net.TCPConn).CloseWrite() }

func (p *peer) say(line string) {
	p.t.Helper()
	var err error
	if p.lines != nil {
		_, err = io.WriteString(p, line+"\n")
	} else {
		err = wsutil.WriteClientText(p, []byte(line))
	}
	if err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// next returns the next line, and an error when the connection ends.
func (p *peer) next() (string, error) {
	for len(p.pending) == 0 {
		if p.lines != nil {
			line, err := p.lines.ReadString('\n')
			return strings.TrimSuffix(line, "\n"), err
		}
		f, err := ws.ReadFrame(p.in)
		if err != nil {
			return "", err
		}
		switch f.Header.OpCode {
		case ws.OpClose:
			code, reason := ws.ParseCloseFrameData(f.Payload)
			return "", wsutil.ClosedError{Code: code, Reason: reason}
		default:
			var e event
			if err := json.Unmarshal(f.Payload, &e); err != nil {
				return "", err
			}
			p.pending = strings.Split(e.String(), "\n")
		}
	}
	line := p.pending[0]
	p.pending = p.pending[1:]
	return line, nil
}

func matches(pattern, line string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(line)
}

// want checks the next line.
func (p *peer) want(pattern string) {
	p.t.Helper()
	if line, err := p.next(); err != nil || !matches(pattern, line) {
		p.t.Fatalf("%s: %.200q, %v, want %q", p.name, line, err, pattern)
	}
}

// until skips lines up to one.
func (p *peer) until(pattern string) {
	p.t.Helper()
	for {
		line, err := p.next()
		if err != nil {
			p.t.Fatalf("%s: %v before %q", p.name, err, pattern)
		}
		if matches(pattern, line) {
			return
		}
	}
}

// wantEnd skips lines up to the end, and wants a close frame of that code.
func (p *peer) wantEnd(code ws.StatusCode) {
	p.t.Helper()
	var err error
	for err == nil {
		_, err = p.next()
	}
	if closed, ok := err.(wsutil.ClosedError); !ok || closed.Code != code {
		p.t.Errorf("%s: ended with %v, want %d", p.name, err, code)
	}
}

// TestStop ends the program by each signal with clients connected, one of which
// has sent nothing, and wants their last messages and exit code 0.
func TestStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := child.Command("-http=127.0.0.1:0", "-lines=127.0.0.1:0", "-grace=1h")
			cmd.Stderr = os.Stderr
			out := testenv.Must(cmd.StdoutPipe())
			testenv.OK(t, cmd.Start())
			t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			var s site
			for _, to := range []*string{&s.lines, &s.web} {
				var what string
				testenv.Must(fmt.Fscanf(out, "%s on %s\n", &what, to))
			}
			web, lines := s.connect(t, "web", "w"), s.connect(t, "lines", "l")
			silent := dial(t, s.lines)
			testenv.Must(io.ReadFull(silent, make([]byte, len("* welcome"))))
			cmd.Process.Signal(sig)
			web.wantEnd(ws.StatusGoingAway)
			web.Close()
			lines.want(`\* goodbye: the server ends`)
			if _, err := lines.next(); err != io.EOF {
				t.Errorf("lines: %v, want EOF", err)
			}
			testenv.NoError(t, cmd.Wait())
			testenv.Must(io.Copy(io.Discard, silent))
		})
	}
}

// TestFlags: what makes no sense is refused.
func TestFlags(t *testing.T) {
	for _, args := range []string{"-conns=0", "-grace=0s", "rest", "-unknown"} {
		cmd := child.Command(strings.Fields(args)...)
		if cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%s: %v", args, cmd.ProcessState)
		}
	}
}
