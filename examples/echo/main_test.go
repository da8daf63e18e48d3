package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain runs the daemon itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("ECHO_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestEchoAndStop talks to the daemon, ends it by each signal with a connection still open, and wants exit code 0.
func TestEchoAndStop(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-addr", "127.0.0.1:0", "-grace", "100ms")
			cmd.Env = append(os.Environ(), "ECHO_CHILD=1")
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", strings.TrimPrefix(strings.TrimSpace(line), "listening on "))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 3 {
				if _, err := c.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 5)
				if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			cmd.Process.Signal(sig)
			if err := cmd.Wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after the end: %v, want EOF", err)
			}
		})
	}
}
