package fd

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Poll is poll(2) for coroutines, see socket.Poll.
func Poll(fds []unix.PollFd, timeout time.Duration) (n int, err error) {
	if n, err = pollNow(fds); n > 0 || err != nil || timeout == 0 {
		return paced(n, err)
	}
	w := &pollWait{fds: fds}
	if timeout > 0 {
		w.until = clock.After(timeout)
	}
	return w.wait()
}

// PollContext is Poll without a timeout that ends with ctx.
func PollContext(ctx context.Context, fds []unix.PollFd) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err // even if fds are ready: a loop must end
	}
	if n, err = pollNow(fds); n > 0 || err != nil {
		return paced(n, err)
	}
	w := &pollWait{fds: fds}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { w.pd.Evict() })()
	}
	n, err = w.wait()
	if err == net.ErrClosed {
		err = ctx.Err()
	}
	return n, err
}

// pollNow calls poll(2) without a wait.
func pollNow(fds []unix.PollFd) (int, error) {
	n, errno := sysx.TryPoll(fds)
	if errno != 0 {
		return 0, os.NewSyscallError("poll", errno)
	}
	return n, nil
}

// paced returns n and err, the result of pollNow. It yields first if the caller
// has kept its thread for long. Unlike a socket, a Poll has no state to count
// its calls in, so paced uses the age of the turn.
func paced(n int, err error) (int, error) {
	if err == nil && processor.TurnOver() && processor.YieldTurn() {
		return 0, coroutine.ErrShutdown
	}
	return n, err
}

// pollWait is a Poll that waits. Its fds are in a level-triggered epoll
// instance of its own, whose fd is readable when one of them has an event. A
// Processor watches the instance's fd like any other. After a wake poll(2)
// decides.
//
// Nothing is lost although the Processor watches the instance edge-triggered:
// an event on any of the fds is an edge of the instance, no matter what the
// instance holds already, and the mark of an edge is cleared before each check.
// So an event after a check ends the next wait.
//
// The instance lives for one wait and takes its registrations with it. If an
// instance were reused, the registration of an fd that was closed while a
// duplicate is open could never be removed.
type pollWait struct {
	fds   []unix.PollFd
	until int64 // CLOCK_MONOTONIC ns; 0: for ever
	pd    processor.PollDesc
	epfd  int  // valid if open
	open  bool // owner: the caller
}

// The time between two checks where there can be no wait, in ns.
const (
	firstPause = 1e6
	lastPause  = 64e6
)

// wait waits and polls until there is an event or an error. Parks.
func (pw *pollWait) wait() (n int, err error) {
	defer pw.close()
	pw.pd.SetDeadline(Read, pw.until)
	for pause := int64(firstPause); ; {
		over := pw.untilWake()
		if _, refused := over.(syscall.Errno); refused {
			pw.close() // its own fd and registrations may exhaust the limit
			over = pw.rest(pause)
			pause = min(2*pause, lastPause)
		}
		pw.pd.Clear(Read)
		if over == coroutine.ErrShutdown {
			return 0, over
		}
		n, err = pollNow(pw.fds)
		if n > 0 || err != nil {
			return n, err
		}
		if over == os.ErrDeadlineExceeded {
			return 0, nil
		}
		if over != nil {
			return 0, over
		}
	}
}

// untilWake waits for an event. The error is the reason not to wait again, or
// the kernel's refusal.
func (pw *pollWait) untilWake() error {
	if err := pw.setUp(); err != nil {
		return err
	}
	v, err := pw.pd.Wait(pw.epfd, Read, coroutine.ReasonRead, 0)
	if err != nil {
		return err
	}
	return verdictError(v)
}

// rest waits for pause ns instead of for an event.
func (pw *pollWait) rest(pause int64) error {
	if pw.until != 0 {
		pause = min(pause, pw.until-clock.Real())
	}
	waiter := coroutine.AcquireWaiter()
	wake := waiter.ParkUntil(coroutine.ReasonSleep, clock.Now()+pause)
	waiter.Release()
	if wake == coroutine.WakeShutdown {
		return coroutine.ErrShutdown
	}
	return verdictError(pw.pd.Check(Read))
}

// addTurn is how many fds are added, at a microsecond each, before it yields.
const addTurn = 256

// setUp makes the epoll instance, unless it has been made.
func (pw *pollWait) setUp() error {
	if pw.open {
		return nil
	}
	fd, err := sysx.NewEpoll()
	if err != nil {
		return err
	}
	pw.epfd, pw.open = fd, true
	var merged map[int32]uint32 // not nil once an fd was found to occur twice
	for i := range pw.fds {
		f := &pw.fds[i]
		if f.Fd < 0 {
			continue
		}
		if i%addTurn == addTurn-1 && coroutine.YieldTurn() {
			return coroutine.ErrShutdown
		}
		errno := sysx.ControlEpoll(fd, unix.EPOLL_CTL_ADD, int(f.Fd), pollEvents(f))
		if errno == unix.EEXIST {
			if merged == nil {
				merged = pw.merge()
			}
			errno = sysx.ControlEpoll(fd, unix.EPOLL_CTL_MOD, int(f.Fd), merged[f.Fd])
		}
		// EPERM: a file whose events never change, and there were none.
		if errno != 0 && errno != unix.EPERM {
			return errno
		}
	}
	return nil
}

// merge returns for each fd the union of the events of its entries.
func (pw *pollWait) merge() map[int32]uint32 {
	all := make(map[int32]uint32, len(pw.fds))
	for i := range pw.fds {
		all[pw.fds[i].Fd] |= pollEvents(&pw.fds[i])
	}
	return all
}

// pollEvents returns the epoll events for f. Epoll's events have poll's
// numbers; epoll's other flags lie beyond them, or poll ignores them.
func pollEvents(f *unix.PollFd) uint32 {
	const known = unix.POLLIN | unix.POLLPRI | unix.POLLOUT | unix.EPOLLRDNORM | unix.EPOLLRDBAND |
		unix.EPOLLWRNORM | unix.EPOLLWRBAND |
		unix.EPOLLMSG | unix.EPOLLRDHUP
	return uint32(f.Events) & known
}

// close undoes setUp, if it was called.
func (pw *pollWait) close() {
	if pw.open {
		pw.open = false
		pw.pd.Unbind()
		sysx.CloseFD(pw.epfd)
	}
}
