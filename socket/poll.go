package socket

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
)

// PollFd is one entry of a [Poll]: the fd, the wanted events (unix.POLLIN and
// so on), and the events that Poll found.
type PollFd = unix.PollFd

// Poll is poll(2) for coroutines: it waits until at least one of fds has a
// wanted event, or until the timeout is over, and returns how many have one;
// Revents has the events. A timeout below 0 means no limit; with 0 Poll only
// checks. Parks a coroutine, blocks a goroutine.
//
// The fds may be of any kind, in any mode and of any owner: pipes, eventfds,
// timerfds, terminals, epoll fds, sockets, also those of package net and of
// this package. Poll reads nothing from them and changes nothing about them. As
// in poll(2), POLLERR, POLLHUP and POLLNVAL (not open) need not be asked for,
// an entry with a negative Fd is skipped, a regular file is always ready, an fd
// may occur more than once, and with no fds at all Poll sleeps. Do not close an
// fd while it is polled: Poll notices late or never.
//
// The error is poll(2)'s (EINVAL for more fds than RLIMIT_NOFILE, never EINTR),
// or netco.ErrShutdown at a forced shutdown; Revents then means nothing.
//
// A call that finds an event at once costs one system call and does not
// allocate. A call that waits uses an fd meanwhile, makes a system call for
// each fd, and allocates: to wait for many fds repeatedly, put them into an
// epoll fd and Poll that. If the kernel refuses such a wait (no fds or memory
// left, some 500 waits on one fd at the same time, epoll fds nested four deep),
// Poll checks repeatedly instead, up to every 64 ms.
func Poll(fds []PollFd, timeout time.Duration) (n int, err error) { return fd.Poll(fds, timeout) }

// PollContext is [Poll] without a timeout that ends with ctx and then returns
// its error.
func PollContext(ctx context.Context, fds []PollFd) (n int, err error) {
	return fd.PollContext(ctx, fds)
}
