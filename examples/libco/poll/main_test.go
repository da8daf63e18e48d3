package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestPoll polls two listeners, a port without a listener, and one that does
// not answer.
func TestPoll(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	mute, _ := testenv.Deaf(t)
	args := []string{ln.Addr().String(), testenv.ClosedPort(t), mute, ln.Addr().String()}
	want := ""
	for _, who := range []string{"main", "coroutine 0", "coroutine 1", "coroutine 2"} {
		want += who + ": 2 connected, 1 refused, 1 silent\n"
	}
	// On a busy machine it may pass before all have connected.
	for timeout := 200 * time.Millisecond; ; timeout *= 4 {
		var out strings.Builder
		if err := run(&out, args, timeout, 3); err != nil {
			t.Fatal(err)
		}
		if out.String() == want {
			return
		}
		if timeout > 10*time.Second {
			t.Fatalf("got\n%swant\n%s", out.String(), want)
		}
	}
}

// TestLate: what is refused at once does not end the wait for what is accepted
// a second later, when the kernel asks again.
func TestLate(t *testing.T) {
	late, fd := testenv.Deaf(t)
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
	if err := run(&out, []string{testenv.ClosedPort(t), late}, time.Minute, 0); err != nil {
		t.Fatal(err)
	}
	if want := "main: 1 connected, 1 refused, 0 silent\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestBadInput(t *testing.T) {
	for _, arg := range []string{"localhost", "127.0.0.1:99999", "here:1"} {
		if err := run(new(strings.Builder), []string{arg}, time.Second, 1); err == nil {
			t.Errorf("%q: no error", arg)
		}
	}
}
