package epoller_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/sysx"
)

// TestEdges: an fd is registered once; each event is reported once, with no
// call in between.
func TestEdges(t *testing.T) {
	e := open(t)
	a, b := socketpair(t)
	_, v := register(t, e, a, "a")
	if got := poll(e); len(got) != 1 || !got[v].Writable() || got[v].Readable() || hungUp(got[v]) {
		t.Errorf("after the registration: %v", got)
	}
	for range 3 {
		if got := poll(e); len(got) != 0 {
			t.Errorf("with nothing new: %v", got)
		}
		send(t, b)
		if got := poll(e); len(got) != 1 || !got[v].Readable() || hungUp(got[v]) {
			t.Errorf("after data: %v", got)
		}
	}
	if err := unix.Shutdown(b, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if got := poll(e); !got[v].Readable() || !hungUp(got[v]) {
		t.Errorf("after the end: %v", got)
	}
	if got := poll(e); len(got) != 0 {
		t.Errorf("with nothing new: %v", got)
	}
	unix.Shutdown(b, unix.SHUT_RDWR)
	if got := poll(e); !got[v].Writable() || !hungUp(got[v]) {
		t.Errorf("after the hang-up: %v", got)
	}
	if n := e.Stats.Events.Load(); n != 6 {
		t.Errorf("%d events counted, want 6", n)
	}
}

func hungUp(e epoller.Events) bool { return e&unix.EPOLLRDHUP != 0 }

// TestEventsMeaning: how each of epoll's bits is interpreted.
func TestEventsMeaning(t *testing.T) {
	for _, c := range []struct {
		bits                epoller.Events
		read, write, readOn bool
	}{
		{unix.EPOLLIN, true, false, false},
		{unix.EPOLLOUT, false, true, false},
		{unix.EPOLLPRI, false, false, true}, // urgent data wakes no reader
		{unix.EPOLLRDHUP, true, false, true},
		{unix.EPOLLHUP, true, true, true},
		{unix.EPOLLERR, true, true, true},
		{unix.EPOLLIN | unix.EPOLLOUT, true, true, false},
		{0, false, false, false},
	} {
		read, write, readOn := c.bits.Readable(), c.bits.Writable(), c.bits.ReadOn()
		if read != c.read || write != c.write || readOn != c.readOn {
			t.Errorf("%#x: readable %v, writable %v, read on %v", uint32(c.bits), read,
				write, readOn)
		}
	}
}

// TestStaleEvents: an event is collected, then its fd is released before Event
// is called, and the slot is reused for another object, even under the same fd
// number. The event must reach neither. In C++ netco such events reached the
// new owner of the slot.
func TestStaleEvents(t *testing.T) {
	e := open(t)
	for _, reuse := range []string{"released", "slot reused", "slot and fd reused"} {
		a, b := socketpair(t)
		r, _ := register(t, e, a, "first")
		send(t, b)
		n := e.Poll()
		if n == 0 {
			t.Fatal("no event")
		}
		stale := e.Stats.Stale.Load()
		e.Release(r)
		var (
			second epoller.Registration
			v      *object
		)
		switch reuse {
		case "slot reused":
			other, _ := socketpair(t)
			second, v = register(t, e, other, "second")
		case "slot and fd reused":
			other, _ := socketpair(t)
			if err := unix.Dup3(other, a, unix.O_CLOEXEC); err != nil { // closes a
				t.Fatal(err)
			}
			second, v = register(t, e, a, "second")
		}
		for i := range n {
			if got, events := e.Event(i); got != nil || events != 0 {
				t.Errorf("%s: delivered %v to %v", reuse, events, got)
			}
		}
		if e.Stats.Stale.Load() != stale+1 {
			t.Errorf("%s: the event was not counted as stale", reuse)
		}
		if v != nil {
			if got := poll(e); len(got) != 1 || !got[v].Writable() {
				t.Errorf("%s: the new object was told %v", reuse, got)
			}
			e.Release(second)
		}
	}
}

// TestRegisterErrors: the error is epoll_ctl's, and the slot is free again.
func TestRegisterErrors(t *testing.T) {
	e := open(t)
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, _ := socketpair(t)
	register(t, e, a, "a")
	for _, c := range []struct {
		fd   int
		want error
	}{{int(file.Fd()), unix.EPERM}, {-1, unix.EBADF}, {a, unix.EEXIST}} {
		if _, err := e.Register(c.fd, new(object)); !errors.Is(err, c.want) {
			t.Errorf("fd %d: %v, want %v", c.fd, err, c.want)
		}
	}
	remove := sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == sysx.EpollCtl {
			return asked, unix.ENOSPC
		}
		return asked, 0
	})
	b, _ := socketpair(t)
	_, err = e.Register(b, new(object))
	remove()
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v, want ENOSPC", err)
	}
	if n := e.Registered(); n != 1 {
		t.Errorf("%d registered after errors, want 1", n)
	}
	if _, v := register(t, e, b, "b"); !poll(e)[v].Writable() {
		t.Error("the slot of a failed registration does not deliver")
	}
}

func TestReleaseTwice(t *testing.T) {
	e := open(t)
	a, _ := socketpair(t)
	r, _ := register(t, e, a, "a")
	e.Release(r)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		if n := e.Registered(); n != 0 {
			t.Errorf("%d registered", n)
		}
	}()
	e.Release(r)
}

// TestEach: it calls f for each registered object, over more than one chunk of
// the slab, and for none that was released.
func TestEach(t *testing.T) {
	e := open(t)
	e.Each(func(*object) { t.Error("visited something in an empty Epoller") })
	const n = 600
	want := map[*object]epoller.Registration{}
	for range n / 2 {
		a, b := socketpair(t)
		for _, fd := range []int{a, b} {
			r, v := register(t, e, fd, "")
			want[v] = r
		}
	}
	gone := 0
	for v, r := range want {
		if gone++; gone%3 == 0 {
			e.Release(r)
			delete(want, v)
		}
	}
	if e.Registered() != len(want) {
		t.Errorf("%d registered, want %d", e.Registered(), len(want))
	}
	seen := map[*object]bool{}
	e.Each(func(v *object) {
		if seen[v] {
			t.Error("visited twice")
		}
		seen[v] = true
		if _, ok := want[v]; !ok {
			t.Error("visited what was released")
		}
	})
	if len(seen) != len(want) {
		t.Errorf("visited %d of %d", len(seen), len(want))
	}
}

// TestManyEvents: more fds are ready than one call reports; the next calls
// report the others.
func TestManyEvents(t *testing.T) {
	e := open(t)
	const n = 300
	left := map[*object]bool{}
	for range n / 2 {
		a, b := socketpair(t)
		for _, fd := range []int{a, b} {
			_, v := register(t, e, fd, "")
			left[v] = true
		}
	}
	for rounds := 0; len(left) > 0; rounds++ {
		got := poll(e)
		if len(got) == 0 || rounds > n {
			t.Fatalf("%d were never told", len(left))
		}
		for v := range got {
			delete(left, v)
		}
	}
}

// TestTimer: a timerfd's expiry ends a Wait each time, although it is never
// read, and is no event.
func TestTimer(t *testing.T) {
	e := open(t)
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := e.AddTimer(fd); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(1_000_000)}
		if err := unix.TimerfdSettime(fd, 0, &spec, nil); err != nil {
			t.Fatal(err)
		}
		n := 0
		for n == 0 {
			n = e.Wait()
		}
		for i := range n {
			if v, events := e.Event(i); v != nil || events != 0 {
				t.Errorf("the timer was delivered: %v %v", v, events)
			}
		}
	}
	if n := e.Stats.Stale.Load(); n != 0 {
		t.Errorf("%d expiries counted as stale", n)
	}
	if err := e.AddTimer(-1); !errors.Is(err, unix.EBADF) {
		t.Errorf("AddTimer(-1): %v", err)
	}
}

// TestInterrupted: an interrupted call is no error.
func TestInterrupted(t *testing.T) {
	e := open(t)
	calls := 0
	remove := sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		calls++
		return asked, unix.EINTR
	})
	defer remove()
	if n := e.Wait(); n != 0 {
		t.Errorf("Wait: %d", n)
	}
	if n := e.Poll(); n != 0 {
		t.Errorf("Poll: %d", n)
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}
