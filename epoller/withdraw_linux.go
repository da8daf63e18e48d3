package epoller

import "golang.org/x/sys/unix"

// Withdraw takes fd out of the kernel's list, before Release and from any thread. It is for an fd of which there are
// duplicates: epoll keeps an open file until the last of its fds is closed, and until then goes on telling of it and
// refuses to register it anew under the same number.
func (e *Epoller[T]) Withdraw(fd int) {
	e.life.RLock()
	defer e.life.RUnlock()
	if !e.closed {
		unix.EpollCtl(e.fd, unix.EPOLL_CTL_DEL, fd, nil) // fails only if it is not there
	}
}
