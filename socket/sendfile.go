package socket

import (
	"errors"
	"net"
	"os"
	"reflect"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

var errInvalidWrite = errors.New("netco/socket: the writer says that it wrote more than it was " +
	"given")

// fileOf returns the file behind r if there is one: an *os.File, or what that
// type's WriteTo passes on in its place, which is another type of package os. A
// type of another package that embeds a file may have a Read of its own.
func fileOf(r any) syscall.Conn {
	if f, ok := r.(*os.File); ok {
		return f
	}
	f, ok := r.(syscall.Conn)
	if !ok {
		return nil
	}
	t := reflect.TypeOf(r)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() != "os" {
		return nil
	}
	return f
}

// sendFile sends a regular file from its position on, up to its end or for so
// many bytes. The position moves with what was sent. It holds the write lock
// throughout, and the file only for one attempt at a time: the file's own locks
// block threads. handled false means that it cannot be done so, and nothing has
// been.
func (s *socket) sendFile(f syscall.Conn, remain int64) (n int64, handled bool, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false, nil
	}
	if regular, err := isRegular(raw); err != nil || !regular {
		return 0, false, nil // a read will return the error
	}
	if !s.mu.lock(writing) {
		return 0, true, net.ErrClosed
	}
	defer s.unlock(writing)
	return s.sendFileLocked(raw, remain)
}

func isRegular(raw syscall.RawConn) (regular bool, err error) {
	cerr := raw.Control(func(fd uintptr) {
		var st unix.Stat_t
		err = unix.Fstat(int(fd), &st)
		regular = st.Mode&unix.S_IFMT == unix.S_IFREG
	})
	return regular, errors.Join(cerr, err)
}

func (s *socket) sendFileLocked(raw syscall.RawConn, remain int64) (done int64, handled bool,
	err error) {
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, true, verdictError(v)
	}
	var n int
	var errno syscall.Errno
	once := func(fd uintptr) {
		if n, errno = 0, s.keepNonblocking(); errno != 0 {
			return
		}
		n, errno = sysx.TrySendfile(s.fd, int(fd), int(min(sysx.MaxSendfile, remain)))
		processor.CountWrite(n, errno)
	}
	for remain > 0 {
		if err := raw.Control(once); err != nil {
			return done, true, err // the file was closed
		}
		switch errno {
		case 0:
			if n == 0 {
				return done, true, nil
			}
			done, remain = done+int64(n), remain-int64(n)
			s.spendWrite(n)
		case unix.EAGAIN:
			if err := s.awaitWritableLocked(); err != nil {
				return done, true, err
			}
		case unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP: // not on this file system
			if done == 0 {
				return 0, false, nil
			}
			fallthrough
		default:
			return done, true, os.NewSyscallError("sendfile", errno)
		}
	}
	return done, true, nil
}

// unlock gives a lock and its use back.
func (s *socket) unlock(m side) {
	if s.mu.unlock(m) {
		s.destroy()
	}
}
