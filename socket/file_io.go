package socket

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Read reads what is there into p, at least one byte, waiting for it if need
// be. At the end it returns io.EOF. Parks. On a pollable fd it does not
// allocate. If the scheduler's forced end makes it return from a regular file,
// p may still be written to.
func (f *File) Read(p []byte) (n int, err error) {
	switch {
	case len(p) == 0:
		err = f.s.control(func(int) error { return nil })
	case f.pollable:
		most := p[:min(len(p), sysx.MaxIO)]
		err = f.s.readWith("read", func(fd int) (int, syscall.Errno) {
			if errno := f.s.keepNonblocking(); errno != 0 {
				return 0, errno
			}
			var errno syscall.Errno
			n, errno = sysx.Read(fd, most)
			processor.CountRead(n, errno)
			return n, errno
		})
	default:
		n, err = f.offload(reading, func(fd int) (int, error) {
			n, errno := sysx.Read(fd, p)
			processor.CountRead(n, errno)
			return n, errnoError(errno)
		})
	}
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return n, f.wrap("read", err)
}

// errnoError makes no error of no errno.
func errnoError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// Write writes all of p, waiting for room if need be. With an error, n is how
// many bytes were written. Parks. On a pollable fd it does not allocate. If the
// scheduler's forced end makes it return from a regular file, it may still be
// going on.
func (f *File) Write(p []byte) (n int, err error) {
	if f.pollable {
		n, err = f.writePollable(p)
	} else {
		n, err = f.offload(writing, func(fd int) (int, error) { return writeAll(fd, p) })
	}
	return n, f.wrap("write", err)
}

func (f *File) writePollable(p []byte) (n int, err error) {
	s := &f.s
	if !s.mu.lock(writing) {
		return 0, net.ErrClosed
	}
	defer f.unlock(writing)
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, verdictError(v)
	}
	for {
		if errno := s.keepNonblocking(); errno != 0 {
			return n, errno
		}
		rest := p[n:]
		done, errno := sysx.Write(s.fd, rest[:min(len(rest), sysx.MaxIO)])
		processor.CountWrite(done, errno)
		n += done
		switch {
		case errno == unix.EAGAIN:
			if err := s.awaitWritableLocked(); err != nil {
				return n, err
			}
		case errno != 0:
			return n, errno
		default:
			s.spendWrite(done)
			if n == len(p) {
				return n, nil
			}
			if done == 0 {
				return n, io.ErrUnexpectedEOF
			}
		}
	}
}

// writeAll writes all of p to a file that may block.
func writeAll(fd int, p []byte) (n int, err error) {
	for {
		done, errno := sysx.Write(fd, p[n:])
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
}

// unlock ends a use with a lock.
func (f *File) unlock(d side) {
	if f.s.mu.unlock(d) {
		f.s.destroy()
	}
}

// offload does I/O that blocks the thread on another. When the wait for it is
// ended by force the I/O goes on, if it has begun, and the fd stays open until
// it has ended.
func (f *File) offload(d side, do func(fd int) (int, error)) (int, error) {
	if !f.s.mu.lock(d) {
		return 0, net.ErrClosed
	}
	var c struct {
		claimed atomic.Bool // by the one that releases the lock
		n       int
		err     error
	}
	err := blocking.Do(context.Background(), func() {
		if c.claimed.Swap(true) {
			return
		}
		defer f.unlock(d)
		c.n, c.err = do(f.s.fd)
	})
	if err == nil {
		return c.n, c.err
	}
	if !c.claimed.Swap(true) {
		f.unlock(d)
	}
	return 0, err
}
