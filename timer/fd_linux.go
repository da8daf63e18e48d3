package timer

import (
	"os"

	"golang.org/x/sys/unix"
)

// FD is a timerfd on CLOCK_MONOTONIC, armed with absolute times. It turns
// readable when an armed deadline comes.
//
// Its user registers Fd once in epoll with EPOLLIN|EPOLLET and never reads from
// it: each expiry is an edge of its own, whether or not the count of earlier
// ones was read.
type FD struct {
	// All fields are the owner's.

	fd       int    // -1 when closed
	armed    int64  // the time last armed for; 0: nothing armed
	settimes uint64 // timerfd_settime calls
}

// Open returns a new FD with nothing armed. It is non-blocking and
// close-on-exec. Errors are *os.SyscallError.
func Open() (*FD, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &FD{fd: fd}, nil
}

// Fd returns the file descriptor, to be registered in epoll, or -1 after Close.
func (f *FD) Fd() int { return f.fd }

// Settimes returns the number of timerfd_settime calls made so far.
func (f *FD) Settimes() uint64 { return f.settimes }

// Arm ensures that the FD fires at deadline or earlier. A deadline up to now
// fires at once.
//
// It makes a syscall only if nothing is armed, if the armed time is later than
// deadline, or if it has passed (armed <= now). Otherwise the armed time stays:
// if its timer is cancelled, the loop has one spurious wake-up and arms the
// next one, which is cheaper than arming anew whenever the earliest timer
// changes. With timeouts that are set and cancelled per request, that is one
// syscall per timeout period and not per request.
//
// Precondition: now is not older than the last epoll_wait. With an older now
// Arm would treat an armed time whose edge is consumed as one still to come.
//
// Errors are *os.SyscallError, or os.ErrClosed after Close.
func (f *FD) Arm(deadline, now int64) error {
	if f.armed != 0 && f.armed <= deadline && f.armed > now {
		return nil
	}
	if deadline <= now {
		deadline = 1
	}
	// Zero would disarm, and a negative time is refused. Time 1 lies in the
	// past, so it fires at once.
	return f.settime(max(deadline, 1))
}

// Close closes the file descriptor, which removes it from every epoll. A second
// Close returns os.ErrClosed.
func (f *FD) Close() error {
	if f.fd < 0 {
		return os.ErrClosed
	}
	err := unix.Close(f.fd)
	f.fd, f.armed = -1, 0
	return os.NewSyscallError("close", err)
}

// settime arms the absolute time when, which is not 0. The kernel never
// blocks here and x/sys makes a raw syscall, so this costs the syscall and
// nothing in the Go scheduler.
func (f *FD) settime(when int64) error {
	if f.fd < 0 {
		return os.ErrClosed
	}
	f.settimes++
	f.armed = 0 // should it fail, the next Arm tries again
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(when)}
	if err := unix.TimerfdSettime(f.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	f.armed = when
	return nil
}
