package fd

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// ReadFile is Read by read(2), for an fd that is no socket. A read of 0 bytes
// is no error.
func (f *FD) ReadFile(p []byte) (n int, err error) {
	p = p[:min(len(p), sysx.MaxIO)]
	err = f.ReadWith("read", func(fd int) (int, bool, syscall.Errno) {
		errno := f.keepNonblocking()
		if errno == 0 {
			n, errno = sysx.Read(fd, p)
			processor.CountRead(n, errno)
		}
		return n, false, errno
	})
	return n, err
}

// WriteFile is Write by write(2), for an fd that is no socket.
func (f *FD) WriteFile(p []byte) (n int, err error) {
	err = f.WriteWith("write", func(fd int) (done int, more bool, errno syscall.Errno) {
		if errno = f.keepNonblocking(); errno != 0 {
			return 0, false, errno
		}
		rest := p[n:]
		done, errno = sysx.Write(fd, rest[:min(len(rest), sysx.MaxIO)])
		processor.CountWrite(done, errno)
		n += done
		return done, done > 0 && n < len(p), errno
	})
	if err == nil && n < len(p) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// ReadElsewhere is ReadFile of a file that epoll refuses, on another thread.
func (f *FD) ReadElsewhere(p []byte) (int, error) {
	return f.offload(Read, func() (int, error) {
		n, errno := sysx.Read(f.fd, p)
		processor.CountRead(n, errno)
		if errno != 0 {
			return n, errno
		}
		return n, nil
	})
}

// WriteElsewhere is WriteFile of a file that epoll refuses, on another thread.
func (f *FD) WriteElsewhere(p []byte) (int, error) {
	return f.offload(Write, func() (n int, err error) {
		for {
			done, errno := sysx.Write(f.fd, p[n:])
			processor.CountWrite(done, errno)
			n += done
			switch {
			case errno != 0:
				return n, errno
			case n == len(p):
				return n, nil
			case done == 0:
				return n, io.ErrUnexpectedEOF
			}
		}
	})
}

// offload does blocking I/O on a second thread. If the wait for it is ended by
// force, I/O that has begun goes on, and the fd stays open until it has ended.
func (f *FD) offload(m Mode, do func() (int, error)) (int, error) {
	if !f.mu.Lock(m) {
		return 0, net.ErrClosed
	}
	var c struct {
		claimed atomic.Bool // by the function that releases the lock
		n       int
		err     error
	}
	err := blocking.Do(context.Background(), func() {
		if c.claimed.Swap(true) {
			return
		}
		defer f.Unlock(m)
		c.n, c.err = do()
	})
	if err == nil {
		return c.n, c.err
	}
	if !c.claimed.Swap(true) {
		f.Unlock(m)
	}
	return 0, err
}
