package socket

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
)

// PollFd is one entry of what [Poll] is asked about: the fd, the events wanted
// (unix.POLLIN and so on), and those that Poll found.
type PollFd = unix.PollFd

// Poll is poll(2) for coroutines: it waits until at least one of fds has an
// event that is wanted, or until the timeout is over, and returns how many have
// one; which is in Revents. A timeout below 0 is none, with 0 it only checks.
// Parks a coroutine, blocks a goroutine.
//
// The fds may be of any kind, in any mode and of any owner: pipes, eventfds,
// timerfds, terminals, epoll fds, sockets, also those of package net and of
// this one. Nothing is read from them and nothing about them is changed. As in
// poll(2), POLLERR, POLLHUP and POLLNVAL (not open) need not be asked for, an
// entry with a negative Fd is skipped, a regular file is always ready, an fd
// may occur more than once, and with no fds at all Poll sleeps. An fd must not
// be closed while it is polled: that is not noticed, or only when something
// else ends the wait.
//
// The error is poll(2)'s (EINVAL for more fds than RLIMIT_NOFILE, never EINTR),
// or netco.ErrShutdown at a forced shutdown; Revents then means nothing.
//
// A call that finds something at once costs one system call and does not
// allocate. One that waits takes an fd for as long, makes a system call for
// each fd, and allocates: to wait for many over and over, put them into an
// epoll fd and Poll that. If the kernel refuses what that takes (no fds or
// memory left, some 500 waits on one fd at the same time, epoll fds nested four
// deep), Poll checks again and again instead, up to every 64 ms.
func Poll(fds []PollFd, timeout time.Duration) (n int, err error) { return fd.Poll(fds, timeout) }

// PollContext is [Poll] without a timeout that ends with ctx and then returns
// its error.
func PollContext(ctx context.Context, fds []PollFd) (n int, err error) {
	return fd.PollContext(ctx, fds)
}
