package processor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// pollWait is a wait for an fd by an ordinary goroutine that the goroutine
// poller cannot wake: outside a bubble of testing/synctest only the kernel may
// wake a goroutine in the bubble; or no fds are left for the poller. So the
// goroutine calls poll(2) itself, which blocks its thread, and a waker writes
// an eventfd. If fds are lacking the goroutine polls at intervals, with or
// without an eventfd: a Scheduler's end wakes only waits for fds that a poller
// has.
//
// In a bubble such a wait keeps the clock from advancing, as a wait in package
// net does, and its deadline is real time.
type pollWait struct {
	w    coroutine.Waiter
	bell int // eventfd, or -1
}

// The interval between polls for want of fds, which doubles each time.
const (
	minPollPause = time.Millisecond
	maxPollPause = 64 * time.Millisecond
)

// Woken implements coroutine.Hook.
func (pw *pollWait) Woken() {
	if pw.bell >= 0 {
		unix.Write(pw.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// waitByPoll is Wait for a goroutine that needs a pollWait. If until is set it
// does not poll the fd, which may have been ready all along: only an edge would
// count.
func (pd *PollDesc) waitByPoll(fd int, m Mode, until int64) (Verdict, error) {
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err == nil {
		defer unix.Close(bell)
	}
	a := &pollWait{bell: bell} // -1 with an error
	a.w.SetHook(a)
	if until != 0 {
		fd = -1
	}
	scarce := bell < 0 || !clock.InBubble()
	g := pd.gate(m)
	for !g.w.CompareAndSwap(nil, &a.w) {
		switch g.w.Load() {
		case readyW:
			return Try, nil // the mark stays until Clear
		case nil:
		default:
			panic("netco/processor: two waiters in one direction of an fd")
		}
	}
	var mark *coroutine.Waiter
	err = nil
	pause := minPollPause
	for pd.Check(m) == Try && g.w.Load() == &a.w && mark == nil && err == nil {
		if of := pd.group(); of != nil && of.Phase() >= Stopped {
			pd.flags.Or(flagDetached)
			break
		}
		if until != 0 && clock.Real() >= until {
			break
		}
		next := earlier(g.deadline.Load(), until)
		if scarce {
			next = earlier(next, clock.Real()+int64(pause))
			pause = min(2*pause, maxPollPause)
		}
		var ready bool
		if ready, err = a.poll(fd, m, next); ready {
			mark = readyW // as an event sets it
		}
	}
	if !g.w.CompareAndSwap(&a.w, mark) && bell >= 0 {
		unix.Read(bell, make([]byte, 8)) // the waker writes once, and then does not use the bell
	}
	return pd.Check(m), err
}

// earlier returns the earlier of two times; 0 is never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// poll returns true once fd is ready in direction m, and false once the eventfd
// is written or the time until (CLOCK_MONOTONIC ns; 0 is never) has come. fd
// and the eventfd may be -1 for none. It may return early.
func (pw *pollWait) poll(fd int, m Mode, until int64) (ready bool, err error) {
	fds := []unix.PollFd{
		{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP},
		{Fd: int32(pw.bell), Events: unix.POLLIN},
	}
	if m == Write {
		fds[0].Events = unix.POLLOUT
	}
	var limit *unix.Timespec
	if until != 0 {
		t := unix.NsecToTimespec(max(until-clock.Real(), 0))
		limit = &t
	}
	if _, err := unix.Ppoll(fds, limit, nil); err != nil && err != unix.EINTR {
		return false, os.NewSyscallError("ppoll", err)
	}
	return fds[0].Revents != 0, nil
}
