package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// TestMain runs the client itself when the test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("ECHOCLI_CHILD") != "" {
		main()
		return
	}
	testenv.Main(m)
}

func child(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "ECHOCLI_CHILD=1")
	return cmd
}

// echo is a server that closes every connection after some bytes, so that
// clients have to connect anew. It reports when it has accepted some.
func echo(t *testing.T, some, bytes int) (addr string, accepted <-chan struct{}) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	served := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if i == some {
				close(served)
			}
			go func() { defer c.Close(); io.CopyN(c, c, int64(bytes)) }()
		}
	}()
	return ln.Addr().String(), served
}

var (
	line = regexp.MustCompile(`(?m)^now: \d+ connected, \d+ answered, \d+ failed, \d+ requests/s$`)
	sum  = regexp.MustCompile(`(?m)^all: 0 connected, [1-9]\d* answered, [1-9]\d* failed, [1-9]\d* requests/s$`)
)

// TestLoad ends the client by its duration and by a signal; both times it
// counts what was answered and the connections that it lost, and leaves none
// behind. Those that it ends itself are no failures.
func TestLoad(t *testing.T) {
	addr, _ := echo(t, 1, 5*8)
	longEnough(t, func(duration string) (string, bool) {
		out, err := child("-addr", addr, "-conns", "3", "-duration", duration, "-every",
			"20ms").CombinedOutput()
		return fmt.Sprintf("by its duration: %v\n%s", err, out), err == nil && line.Match(out) &&
			sum.Match(out)
	})

	addr, _ = echo(t, 1, 1<<40)
	longEnough(t, func(duration string) (string, bool) {
		out, err := child("-addr", addr, "-conns", "3", "-duration", duration, "-timeout",
			"1m").CombinedOutput()
		return fmt.Sprintf("without an error: %v\n%s", err, out), err == nil &&
			strings.Contains(string(out), " answered, 0 failed")
	})

	addr, accepted := echo(t, 10, 5*8)
	var b strings.Builder
	cmd := child("-addr", addr, "-conns", "3")
	cmd.Stdout = &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	select {
	case <-accepted:
	case <-time.After(time.Minute):
		t.Fatal("no requests for a minute")
	}
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil || !sum.MatchString(b.String()) {
		t.Errorf("by a signal: %v\n%s", err, b.String())
	}
}

// longEnough tries for so short a time that a busy machine may have done
// nothing in it, and then for longer and longer.
func longEnough(t *testing.T, try func(duration string) (problem string, ok bool)) {
	t.Helper()
	for d := 200 * time.Millisecond; ; d *= 4 {
		problem, ok := try(d.String())
		if ok {
			return
		}
		if d > 10*time.Second {
			t.Error(problem)
			return
		}
	}
}

// TestNoServer wants an exit code when there is no server, and one that
// listens and does not answer.
func TestNoServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	mute := ln.Addr().String()
	for _, addr := range []string{mute, testenv.ClosedPort(t)} {
		longEnough(t, func(duration string) (string, bool) {
			out, err := child("-addr", addr, "-conns", "2", "-duration", duration, "-timeout",
				"20ms").CombinedOutput()
			return fmt.Sprintf("%v\n%s", err, out),
				err != nil && strings.Contains(string(out), "nothing was answered") &&
					!strings.Contains(string(out), ", 0 failed")
		})
	}
}
