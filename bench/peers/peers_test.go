package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be any of the servers.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && workloads[os.Args[1]] != nil {
		main()
	}
	os.Exit(m.Run())
}

const patience = 20 * time.Second

// serve starts a server by a command, ends it with the test, and returns a way
// to connect to it once it accepts.
func serve(t *testing.T, address string, command ...string) (dial func() net.Conn) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%q: %.1000s", command, output.String())
		}
	})
	return func() net.Conn {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.SetDeadline(time.Now().Add(patience))
				t.Cleanup(func() { c.Close() })
				return c
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// checkEcho wants back what it has sent: one message, several at once, and one
// that is larger than the servers' buffers.
func checkEcho(t *testing.T, c net.Conn) {
	t.Helper()
	for _, sent := range []string{"hello", strings.Repeat("pipelined ", 16),
		strings.Repeat("large", 10_000)} {
		got := make([]byte, len(sent))
		failed := make(chan error, 1)
		go func() { _, err := io.WriteString(c, sent); failed <- err }()
		if _, err := io.ReadFull(c, got); err != nil || string(got) != sent {
			t.Fatalf("%d bytes sent, %v, %.20q", len(sent), err, got)
		}
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

func checkHTTP(t *testing.T, dial func() net.Conn) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{Dial: func(string, string) (net.Conn, error) {
		return dial(), nil
	}}}
	defer client.CloseIdleConnections()
	for path, want := range map[string][2]string{"/": {"text/plain; charset=utf-8",
		"Hello, World!"}, "/json": {"application/json", `{"message":"Hello, World!"}`}} {
		for range 2 { // the second on the same connection
			r, err := client.Get("http://peer" + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r.Body)
			r.Body.Close()
			if got := [2]string{r.Header.Get("Content-Type"), string(body)}; err != nil ||
				r.StatusCode != http.StatusOK || got != want {
				t.Errorf("%s: %v, %q, %v", path, r.Status, got, err)
			}
		}
	}
}

// TestPeers: each server does what its workload says.
func TestPeers(t *testing.T) {
	for workload, peers := range workloads {
		for peer := range peers {
			t.Run(fmt.Sprintf("%s %s", workload, peer), func(t *testing.T) {
				t.Parallel()
				address := freeAddress(t)
				dial := serve(t, address, os.Args[0], workload, peer, address)
				switch workload {
				case "http":
					checkHTTP(t, dial)
				case "tls", "halves":
					checkEcho(t, tls.Client(dial(), &tls.Config{InsecureSkipVerify: true}))
				default:
					checkEcho(t, dial())
					checkEcho(t, dial())
				}
			})
		}
	}
}

// TestFloor: the C server does as the others.
func TestFloor(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	program := filepath.Join(t.TempDir(), "floor")
	if out, err := exec.Command(cc, "-O2", "-o", program,
		"../../cmd/netco-bench/floor/echo.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	checkEcho(t, serve(t, address, program, host, "65536", port)())
}
