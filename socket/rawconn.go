package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// SyscallConn gives access to the fd while it is sure to be open. Read and
// Write call their function again after each event for as long as it returns
// false, and park in between; it should return false only if the fd has said
// EAGAIN. Deadlines and Close end them as they end reads and writes.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return rawConn{&c.s, &c.endpoints}, nil }

// File returns an os.File of a duplicate of the fd. Closing one does not close
// the other. They are one socket all the same: its options and its mode are
// shared. It stays non-blocking, also when the file's Fd method is called,
// unlike net's.
func (c *conn) File() (*os.File, error) {
	f, err := c.s.file(&c.endpoints)
	return f, c.opError("file", err)
}

// SyscallConn gives access to the fd while it is sure to be open, by Control.
// Read and Write return EINVAL, as net's do.
func (l *listener) SyscallConn() (syscall.RawConn, error) {
	return rawListener{rawConn{&l.s, &l.at}}, nil
}

// File returns an os.File of a duplicate of the fd, to be handed to another
// process. Closing one does not close the other: there is one queue of
// connections, and the first to accept has them. It stays non-blocking, also
// when the file's Fd method is called, unlike net's.
func (l *listener) File() (*os.File, error) {
	f, err := l.s.file(&l.at)
	return f, l.at.setError("file", err)
}

// file makes an os.File that is named as net names it.
func (s *socket) file(at *endpoints) (*os.File, error) {
	var dup int
	err := s.control(func(fd int) (err error) {
		s.shared.Store(true)
		dup, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return os.NewSyscallError("fcntl", err)
	})
	if err != nil {
		return nil, err
	}
	text := func(a net.Addr) string {
		if a == nil {
			return ""
		}
		return a.String()
	}
	return os.NewFile(uintptr(dup), at.network.String()+":"+text(at.LocalAddr())+"->"+
		text(at.RemoteAddr())), nil
}

// rawConn is a syscall.RawConn.
type rawConn struct {
	s  *socket
	at *endpoints
}

// Control implements syscall.RawConn.
func (r rawConn) Control(f func(fd uintptr)) error {
	return r.at.setError("raw-control", r.s.expose(f))
}

// Read implements syscall.RawConn.
func (r rawConn) Read(f func(fd uintptr) bool) error {
	r.s.share()
	return r.at.opError("raw-read", r.s.rawRead(f))
}

// Write implements syscall.RawConn.
func (r rawConn) Write(f func(fd uintptr) bool) error {
	r.s.share()
	return r.at.opError("raw-write", r.s.rawWrite(f))
}

// rawListener is a syscall.RawConn.
type rawListener struct{ rawConn }

func (rawListener) Read(func(fd uintptr) bool) error  { return syscall.EINVAL }
func (rawListener) Write(func(fd uintptr) bool) error { return syscall.EINVAL }

// expose calls f with the fd, of which it may make others.
func (s *socket) expose(f func(fd uintptr)) error {
	return s.control(func(fd int) error {
		s.shared.Store(true)
		f(uintptr(fd))
		return nil
	})
}

// keepNonblocking sees to it that a call which has no flag of its own for that
// does not block: blocked it would hold up the thread and with it the process's
// garbage collection. The owner of another fd of this open file description, a
// child perhaps, can make it blocking at any time; so that is checked before
// each attempt. Sockets that are not shared pay nothing.
func (s *socket) keepNonblocking() syscall.Errno {
	if s.shared.Load() && makeNonblocking(s.fd) != nil {
		return unix.EINVAL
	}
	return 0
}

// tryAccept makes one attempt.
func (s *socket) tryAccept(from *sysx.RawAddr) (int, syscall.Errno) {
	if errno := s.keepNonblocking(); errno != 0 {
		return -1, errno
	}
	fd, errno := sysx.TryAccept(s.fd, from)
	processor.CountAccept(errno)
	return fd, errno
}

// rawRead calls f until it returns true, with a wait for an edge after each
// time it does not. What f does with the fd, and what its answer says about
// there being data, is not known.
func (s *socket) rawRead(f func(fd uintptr) bool) error {
	if !s.mu.lock(reading) {
		return net.ErrClosed
	}
	defer func() { // f may panic
		if s.mu.unlock(reading) {
			s.destroy()
		}
	}()
	if v := s.check(processor.Read); v != processor.Ready {
		return verdictError(v)
	}
	for {
		s.pd.Clear(processor.Read)
		s.queue = maybe
		if errno := s.keepNonblocking(); errno != 0 {
			return errno
		}
		if f(uintptr(s.fd)) {
			s.noteRead()
			s.spendRead(0)
			return nil
		}
		if err := s.awaitReadableLocked(); err != nil {
			return err
		}
	}
}

// rawWrite is rawRead for the other direction.
func (s *socket) rawWrite(f func(fd uintptr) bool) error {
	if !s.mu.lock(writing) {
		return net.ErrClosed
	}
	defer func() {
		if s.mu.unlock(writing) {
			s.destroy()
		}
	}()
	if v := s.check(processor.Write); v != processor.Ready {
		return verdictError(v)
	}
	for {
		if errno := s.keepNonblocking(); errno != 0 {
			return errno
		}
		if f(uintptr(s.fd)) {
			s.spendWrite(0)
			return nil
		}
		if err := s.awaitWritableLocked(); err != nil {
			return err
		}
	}
}
