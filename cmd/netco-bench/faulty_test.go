package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pidFileEnv names a FIFO that the server "announced" writes its pid to.
const pidFileEnv = "NETCO_BENCH_TEST_FIFO"

// faultyServers misbehave on the connection's 100th read.
var faultyServers = map[string]server{
	"dies": faulty(func(net.Conn, []byte) ([]byte, error) {
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(7)
		return nil, nil
	}),
	"garbles": faulty(func(_ net.Conn, b []byte) ([]byte, error) {
		b[len(b)/2] ^= 1
		return b, nil
	}),
	"adds":      faulty(func(_ net.Conn, b []byte) ([]byte, error) { return append(b, 0), nil }),
	"unborn":    func(serveConfig) (string, error) { return "", errors.New("no such luck") },
	"announced": announced,
}

func faulty(fault func(c net.Conn, b []byte) ([]byte, error)) server {
	return goroutines(listenNet, func(c net.Conn, _ serveConfig) { echoFaulty(c, fault) })
}

func echoFaulty(c net.Conn, fault func(net.Conn, []byte) ([]byte, error)) {
	defer c.Close()
	buf := make([]byte, 4096)
	for i := 0; ; i++ {
		n, err := c.Read(buf)
		b := buf[:n]
		if err == nil && i == 100 {
			if b, err = fault(c, b); b == nil {
				return
			}
		}
		if err != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

func announced(cfg serveConfig) (string, error) {
	if err := os.WriteFile(os.Getenv(pidFileEnv), fmt.Appendln(nil, os.Getpid()), 0); err != nil {
		return "", err
	}
	return goroutines(listenNet, echoNet)(cfg)
}

// awaitPID returns the pid an "announced" server writes to the FIFO.
func awaitPID(t *testing.T, fifo string) int {
	t.Helper()
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func newFIFO(t *testing.T) string {
	t.Helper()
	fifo := t.TempDir() + "/pid"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(pidFileEnv, fifo)
	return fifo
}

// awaitEnd waits until the process is gone, or a zombie that another process
// has to reap.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err != nil {
		t.Fatal("pidfd_open:", err)
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
		if n > 0 {
			return
		}
		if err != nil && err != unix.EINTR {
			t.Fatal("poll:", err)
		}
	}
	t.Fatalf("process %d is still there", pid)
}

func itoa(n int) string { return strconv.Itoa(n) }

// nothing is a handler that answers with nothing.
type nothing struct{}

func (nothing) ServeHTTP(http.ResponseWriter, *http.Request) {}

// noChildren fails the test if this process has a child at its end.
func noChildren(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
			if pids := strings.TrimSpace(string(b)); err == nil && pids != "" {
				t.Errorf("children left behind: %s", pids)
			}
		}
	})
}

// sameFiles fails the test if it ends with more open files than it began with.
func sameFiles(t *testing.T) {
	t.Helper()
	count := func() int {
		l, _ := os.ReadDir("/proc/self/fd")
		return len(l)
	}
	before := count()
	t.Cleanup(func() {
		after := count()
		for end := time.Now().Add(10 * time.Second); after > before &&
			time.Now().Before(end); after = count() {
			time.Sleep(10 * time.Millisecond) // another goroutine may be about to close one
		}
		if after > before {
			t.Errorf("%d open files, %d at the start", after, before)
		}
	})
}
