package main

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/child"
	"github.com/netco-go/netco/internal/testenv"
)

// TestMain runs the server itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	testenv.Main(m)
}

// TestLimitAndStop fills every coroutine with a connection. One more client
// waits until one of them ends, and then is served. The server then ends those
// that are open by force.
func TestLimitAndStop(t *testing.T) {
	cmd, addr := child.Start(t, "-addr", "127.0.0.1:0", "-tasks", "2", "-processors", "2",
		"-grace", "100ms")
	var served []net.Conn
	for range 4 {
		c := dial(t, addr)
		echoes(t, c)
		served = append(served, c)
	}
	late := dial(t, addr)
	if _, err := late.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	late.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := late.Read(make([]byte, 5)); n != 0 || !os.IsTimeout(err) {
		t.Fatalf("beyond the limit: %d, %v, want a timeout", n, err)
	}
	served[0].Close()
	late.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(late, make([]byte, 5)); err != nil {
		t.Fatalf("after a place was free: %v", err)
	}
	for _, c := range served[1:] {
		echoes(t, c)
	}
	served[1].(*net.TCPConn).CloseWrite()
	if n, err := served[1].Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the client's end: %d, %v, want EOF", n, err)
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != netco.ExitForced {
		t.Errorf("ended with %d", code)
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

func echoes(t *testing.T, c net.Conn) {
	t.Helper()
	got := make([]byte, 5)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
}
