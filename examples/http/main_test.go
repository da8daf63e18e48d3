package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the daemon itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("HTTP_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func startChild(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0],
		append([]string{"-addr", "127.0.0.1:0", "-grace", "2s"}, args...)...)
	cmd.Env = append(os.Environ(), "HTTP_CHILD=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
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
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "HTTP_CHILD=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "http: ") {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
}
