package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/examples/internal/child"
)

// TestMain runs the daemon itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	os.Exit(m.Run())
}

func startChild(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	return child.Start(t, append([]string{"-addr", "127.0.0.1:0", "-grace", "2s"}, args...)...)
}

// TestServe asks each engine on each transport from several clients that keep
// their connections, and ends it.
func TestServe(t *testing.T) {
	for _, engine := range []string{"fasthttp", "net/http"} {
		for _, transport := range []string{"netco", "net"} {
			t.Run(engine+" on "+transport, func(t *testing.T) {
				cmd, addr := startChild(t, "-engine", engine, "-transport", transport)
				client := &http.Client{Timeout: 10 * time.Second,
					Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
				var all sync.WaitGroup
				for id := range 8 {
					all.Add(1)
					go func() {
						defer all.Done()
						for i := range 20 {
							path := fmt.Sprintf("/%d/%d", id, i)
							r, err := client.Get("http://" + addr + path)
							if err != nil {
								t.Error(err)
								return
							}
							body, err := io.ReadAll(r.Body)
							r.Body.Close()
							if string(body) != "Hello from "+path+"\n" || err != nil ||
								r.StatusCode != 200 {
								t.Errorf("%d %q, %v", r.StatusCode, body, err)
							}
						}
					}()
				}
				all.Wait()
				client.CloseIdleConnections()
				cmd.Process.Signal(syscall.SIGTERM)
				if err := cmd.Wait(); err != nil {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

// TestEndWhileIdle: connections that wait for a request do not keep the daemon
// from ending.
func TestEndWhileIdle(t *testing.T) {
	cmd, addr := startChild(t, "-grace", "100ms")
	r, err := http.Get("http://" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, r.Body)
	r.Body.Close() // the client keeps the connection
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestBadFlags: what is unknown is said.
func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-engine", "x"}, {"-transport", "x"}, {"-addr", "nonsense"}} {
		cmd := child.Command(args...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "engines: ") {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
}

// TestLimits: a request that does not come in, and a connection on which none
// does, are ended; a head that is too long is refused.
func TestLimits(t *testing.T) {
	for _, engine := range []string{"fasthttp", "net/http"} {
		for _, transport := range []string{"netco", "net"} {
			t.Run(engine+" on "+transport, func(t *testing.T) {
				_, addr := startChild(t, "-engine", engine, "-transport", transport, "-timeout",
					"100ms", "-idle-timeout", "100ms")
				const request = "GET /x HTTP/1.1\r\nHost: x\r\n"
				for name, c := range map[string]struct{ sent, want string }{
					"half a head": {request, ""},
					"idle":        {request + "\r\n", "Hello from /x"},
					"half a body": {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
						""},
					"a long head": {request + "A: " + strings.Repeat("a", 40<<10) + "\r\n\r\n",
						" 431 "},
				} {
					got, err := answer(t, addr, c.sent)
					// A thread that stands still may send too late.
					for n := 0; got == "" && c.want != "" && n < 100 &&
						!errors.Is(err, os.ErrDeadlineExceeded); n++ {
						got, err = answer(t, addr, c.sent)
					}
					if errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(got, c.want) {
						t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
					}
				}
			})
		}
	}
}

// answer is what a connection gives after this is sent; its error is a reset if
// the server has not read it all.
func answer(t *testing.T, addr, sent string) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	io.WriteString(conn, sent)
	got, err := io.ReadAll(conn)
	return string(got), err
}

// TestMaxConns: beyond the limit a connection waits until another ends.
func TestMaxConns(t *testing.T) {
	_, addr := startChild(t, "-max-conns", "1")
	ask := func(c net.Conn) (string, error) {
		c.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(c, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
		return bufio.NewReader(c).ReadString('\n')
	}
	var conns [2]net.Conn
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
		if i == 0 {
			if got, err := ask(c); err != nil {
				t.Fatal(got, err)
			}
		}
	}
	io.WriteString(conns[1], "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
	conns[1].SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := conns[1].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a second connection: %v", err)
	}
	conns[0].Close()
	if got, err := ask(conns[1]); err != nil || !strings.Contains(got, "200") {
		t.Errorf("when the first has ended: %q, %v", got, err)
	}
}
