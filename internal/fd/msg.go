package fd

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// RecvMsg receives one message of a Unix socket, and its ancillary data into
// oob. The error is call's, or that of the wait. Parks.
func (f *FD) RecvMsg(call string, p, oob []byte, from *sysx.UnixName) (n, oobn, flags int,
	err error) {
	err = f.ReadWith(call, func(fd int) (int, bool, syscall.Errno) {
		var errno syscall.Errno
		for tries := 0; ; tries++ {
			n, oobn, flags, errno = sysx.TryRecvMsg(fd, p, oob, from)
			processor.CountRead(min(n, len(p)), errno)
			if tries > 0 || n > 0 || oobn > 0 || errno != 0 || !f.spuriousEOF() {
				break
			}
		}
		return n, false, errno
	})
	return n, oobn, flags, err
}

// While a named address has no room for a packet, SendMsg tries again after
// minBackoff, doubled each time up to maxBackoff.
const (
	minBackoff = time.Millisecond
	maxBackoff = 100 * time.Millisecond
)

// SendMsg sends one message of a Unix socket, with the ancillary data oob, to
// the address to, or to the peer if to is nil. Room at an address that is not
// the peer's makes no edge. Parks.
func (f *FD) SendMsg(call string, p, oob []byte, to *string) (int, error) {
	if !f.mu.Lock(Write) {
		return 0, net.ErrClosed
	}
	n, err := f.sendMsgLocked(call, p, oob, to)
	f.Unlock(Write)
	return n, err
}

func (f *FD) sendMsgLocked(call string, p, oob []byte, addr *string) (int, error) {
	if v := f.check(Write); v != processor.Try {
		return 0, verdictError(v)
	}
	var to sysx.UnixName
	if addr != nil {
		if errno := to.Set(*addr); errno != 0 {
			return 0, os.NewSyscallError(call, errno)
		}
	}
	for pause := int64(minBackoff); ; pause = min(2*pause, int64(maxBackoff)) {
		n, errno := sysx.TrySendMsg(f.fd, p, oob, &to)
		processor.CountWrite(n, errno)
		switch {
		case errno == 0:
			f.spendWrite(n)
			return n, nil
		case errno != unix.EAGAIN:
			return 0, os.NewSyscallError(call, errno)
		}
		var err error
		if addr == nil {
			err = f.awaitWritableLocked()
		} else {
			err = f.awaitRoomLocked(clock.Real() + pause)
		}
		if err != nil {
			return 0, err
		}
	}
}

// awaitRoomLocked waits after a packet to a named address has found a full
// queue there: for an edge, which comes when one of the socket's own packets is
// read, or until a time to try again.
//
// An edge that comes at once means nothing: the kernel makes it when it frees
// the refused packet, in each epoll that has the socket. If such an edge caused
// an attempt, the next refused packet would cause the next edge, without end.
func (f *FD) awaitRoomLocked(until int64) error {
	for early := clock.Real() + int64(minBackoff); ; {
		f.pd.Clear(Write)
		f.writeBudget = 0
		err := waitError(f.pd.Wait(f.fd, Write, coroutine.ReasonWrite, until))
		if err != nil || clock.Real() >= early {
			return err
		}
	}
}
