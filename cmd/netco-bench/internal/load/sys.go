package load

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

const connectTimeout = 5 * time.Second

// dial opens a non-blocking TCP connection with Nagle's algorithm off.
func dial(addr netip.AddrPort) (fd int, err error) {
	family, sa := socketAddr(addr)
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, sa); err == unix.EINPROGRESS || err == unix.EINTR {
		err = awaitConnect(fd)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func socketAddr(addr netip.AddrPort) (family int, sa unix.Sockaddr) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}

// awaitConnect waits until a connect under way has come out one way or the
// other.
func awaitConnect(fd int) error {
	deadline := time.Now().Add(connectTimeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return unix.ETIMEDOUT
		}
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(p, int(left.Milliseconds())+1)
		if err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return err
		}
		code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		return err
	}
}

// wait blocks by the ordinary system call path, so that the scheduler can have
// the P meanwhile. Trying a raw epoll_pwait(0) first, or blocking in a raw one,
// made no difference in req/s or client CPU at 1, 8 and 64 connections.
func wait(epfd int, events []unix.EpollEvent, millis int) (int, error) {
	n, err := unix.EpollWait(epfd, events, millis)
	if err == unix.EINTR {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("epoll_wait: %w", err)
	}
	return n, nil
}

// preciseTimers lets the calling thread's timed waits end when they are due:
// the kernel's default is up to 50 µs later. restore undoes that, on the same
// thread.
func preciseTimers() (restore func(), err error) {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("prctl(PR_SET_TIMERSLACK): %w", err)
	}
	return func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }, nil // 0 is the default
}

// processCPU reads the CPU time of a whole process, threads that have ended
// included, to the nanosecond and without its help. /proc/pid/stat counts in
// 10 ms, /proc/pid/schedstat only the main thread. It is 0 when the process is
// gone. The clock's number is CPUCLOCK_SCHED of ~pid (see clock_getcpuclockid).
func processCPU(pid int) time.Duration {
	return clock(int32(^pid<<3 | 2))
}

// threadCPU reads the CPU time of the calling thread.
func threadCPU() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
