package epoller_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// object is what fds are registered with here.
type object struct{ name string }

func open(t testing.TB) *epoller.Epoller[object] {
	t.Helper()
	e := testenv.Must(epoller.Open[object]())
	t.Cleanup(e.Close)
	return e
}

// socketpair returns two connected sockets.
func socketpair(t testing.TB) (a, b int) {
	t.Helper()
	fds := testenv.Must(pair())
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return fds[0], fds[1]
}

func pair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX,
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

func register(t testing.TB, e *epoller.Epoller[object], fd int, name string) (epoller.Registration,
	*object) {
	t.Helper()
	v := &object{name}
	r := testenv.Must(e.Register(fd, v))
	return r, v
}

func send(t testing.TB, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		t.Fatal(err)
	}
}

// poll returns the events of each object since the last call.
func poll(e *epoller.Epoller[object]) map[*object]epoller.Events {
	found := map[*object]epoller.Events{}
	for i := range e.Poll() {
		if v, events := e.Event(i); v != nil {
			found[v] = events
		}
	}
	return found
}
