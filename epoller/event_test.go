package epoller_test

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
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
	testenv.OK(t, unix.Shutdown(b, unix.SHUT_WR))
	if got := poll(e); !got[v].Readable() || !hungUp(got[v]) {
		t.Errorf("after the end: %v", got)
	}
	if got := poll(e); len(got) != 0 {
		t.Errorf("with nothing new: %v", got)
	}
	unix.Shutdown(b, unix.SHUT_RDWR)
	got := poll(e)
	testenv.True(t, got[v].Writable() && hungUp(got[v]), "after the hang-up: %v", got)
	testenv.Equal(t, e.Stats.Events.Load(), 6, "events counted")
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
			got, events := e.Event(i)
			testenv.True(t, got == nil && events == 0, "%s: delivered %v to %v", reuse, events, got)
		}
		testenv.Equal(t, e.Stats.Stale.Load(), stale+1, reuse, "the event was not counted as stale")
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
	testenv.OK(t, err)
	defer file.Close()
	a, _ := socketpair(t)
	register(t, e, a, "a")
	for _, c := range []struct {
		fd   int
		want error
	}{{int(file.Fd()), unix.EPERM}, {-1, unix.EBADF}, {a, unix.EEXIST}} {
		testenv.Fails(t, testenv.Err(e.Register(c.fd, new(object))), c.want, "fd", c.fd)
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
	testenv.Fails(t, err, unix.ENOSPC)
	testenv.Equal(t, e.Registered(), 1, "registered after errors")
	_, v := register(t, e, b, "b")
	testenv.True(t, poll(e)[v].Writable(), "the slot of a failed registration does not deliver")
}

func TestReleaseTwice(t *testing.T) {
	e := open(t)
	a, _ := socketpair(t)
	r, _ := register(t, e, a, "a")
	e.Release(r)
	defer func() {
		testenv.True(t, recover() != nil, "no panic")
		testenv.Equal(t, e.Registered(), 0, "registered")
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
	testenv.Equal(t, e.Registered(), len(want), "registered")
	seen := map[*object]bool{}
	e.Each(func(v *object) {
		testenv.True(t, !seen[v], "visited twice")
		seen[v] = true
		if _, ok := want[v]; !ok {
			t.Error("visited what was released")
		}
	})
	testenv.True(t, len(seen) == len(want), "visited %d of %d", len(seen), len(want))
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
	testenv.OK(t, err)
	defer unix.Close(fd)
	testenv.OK(t, e.AddTimer(fd))
	for range 3 {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(1_000_000)}
		testenv.OK(t, unix.TimerfdSettime(fd, 0, &spec, nil))
		n := 0
		for n == 0 {
			n = e.Wait()
		}
		for i := range n {
			v, events := e.Event(i)
			testenv.True(t, v == nil && events == 0, "the timer was delivered: %v %v", v, events)
		}
	}
	testenv.Equal(t, e.Stats.Stale.Load(), 0, "expiries counted as stale")
	testenv.Fails(t, e.AddTimer(-1), unix.EBADF, "AddTimer(-1)")
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
	testenv.Equal(t, e.Wait(), 0, "Wait")
	testenv.Equal(t, e.Poll(), 0, "Poll")
	testenv.Equal(t, calls, 2, "calls")
}
