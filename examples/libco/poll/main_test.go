package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// silent returns the address of a listener that answers no more clients: its queue, which nobody accepts from, is full.
func silent(t *testing.T) (addr string, fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr = fmt.Sprint("127.0.0.1:", at.(*unix.SockaddrInet4).Port)
	for range 10 {
		c, err := net.DialTimeout("tcp", addr, 900*time.Millisecond) // before the kernel asks again
		if err != nil {
			return addr, fd
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("this kernel's queue of clients does not fill up")
	return "", -1
}

// nobody returns an address on which nobody listens, or will before the test's end: it is bound.
func nobody(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", at.(*unix.SockaddrInet4).Port)
}

// TestPoll polls two listeners, a port where nobody listens, and one that does not answer.
func TestPoll(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	mute, _ := silent(t)
	args := []string{ln.Addr().String(), nobody(t), mute, ln.Addr().String()}
	var out strings.Builder
	if err := run(&out, args, 3*time.Second, 3); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, who := range []string{"main", "coroutine 0", "coroutine 1", "coroutine 2"} {
		want += who + ": 2 connected, 1 refused, 1 silent\n"
	}
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestLate: what is refused at once does not end the wait for what is accepted a second later, when the kernel asks again.
func TestLate(t *testing.T) {
	late, fd := silent(t)
	done := make(chan struct{})
	accept := time.AfterFunc(100*time.Millisecond, func() {
		defer close(done)
		for {
			c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if err != nil {
				return // the listener's end
			}
			unix.Close(c)
		}
	})
	defer func() {
		unix.Shutdown(fd, unix.SHUT_RD)
		if !accept.Stop() {
			<-done
		}
	}()
	var out strings.Builder
	if err := run(&out, []string{nobody(t), late}, time.Minute, 0); err != nil {
		t.Fatal(err)
	}
	if want := "main: 1 connected, 1 refused, 0 silent\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestBadInput(t *testing.T) {
	for _, args := range [][]string{nil, {"localhost"}, {"127.0.0.1:99999"}, {"here:1"}} {
		if err := run(new(strings.Builder), args, time.Second, 1); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if err := run(new(strings.Builder), []string{"127.0.0.1:1"}, 0, 1); err == nil {
		t.Error("no timeout: no error")
	}
}
