package fd

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// SendFile sends a regular file from its position on, up to its end or for
// remain bytes, and moves the position by the bytes sent. It holds the write
// lock throughout, and the file only for one attempt at a time: the file's own
// locks block threads. If handled is false, sendfile(2) cannot send this file
// and nothing was sent.
func (f *FD) SendFile(file syscall.RawConn, remain int64) (done int64, handled bool, err error) {
	if !f.mu.Lock(Write) {
		return 0, true, net.ErrClosed
	}
	defer f.Unlock(Write)
	var n int
	var errno syscall.Errno
	once := func(fd uintptr) {
		if n, errno = 0, f.keepNonblocking(); errno == 0 {
			n, errno = sysx.TrySendfile(f.fd, int(fd), int(min(sysx.MaxSendfile, remain)))
			processor.CountWrite(n, errno)
		}
	}
	handled = true
	var closed error
	err = f.writeWithLocked("sendfile", func(int) (int, bool, syscall.Errno) {
		if closed = file.Control(once); closed != nil {
			return 0, false, 0
		}
		if errno == unix.EINVAL || errno == unix.ENOSYS || errno == unix.EOPNOTSUPP {
			handled = done > 0 // else not on this file system
		}
		done, remain = done+int64(n), remain-int64(n)
		return n, n > 0 && remain > 0, errno
	})
	switch {
	case !handled:
		return 0, false, nil
	case closed != nil:
		err = closed
	}
	return done, true, err
}
