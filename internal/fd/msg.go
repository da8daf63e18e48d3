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
func (s *FD) RecvMsg(call string, p, oob []byte, from *sysx.UnixName) (n, oobn, flags int,
	err error) {
	err = s.ReadWith(call, func(fd int) (int, bool, syscall.Errno) {
		var errno syscall.Errno
		for tries := 0; ; tries++ {
			n, oobn, flags, errno = sysx.TryRecvMsg(fd, p, oob, from)
			processor.CountRead(min(n, len(p)), errno)
			if tries > 0 || n > 0 || oobn > 0 || errno != 0 || !s.spuriousEOF() {
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
func (s *FD) SendMsg(call string, p, oob []byte, to *string) (int, error) {
	if !s.mu.Lock(Write) {
		return 0, net.ErrClosed
	}
	n, err := s.sendMsgLocked(call, p, oob, to)
	s.Unlock(Write)
	return n, err
}

func (s *FD) sendMsgLocked(call string, p, oob []byte, addr *string) (int, error) {
	if v := s.check(Write); v != processor.Try {
		return 0, verdictError(v)
	}
	var to sysx.UnixName
	if addr != nil {
		if errno := to.Set(*addr); errno != 0 {
			return 0, os.NewSyscallError(call, errno)
		}
	}
	for pause := int64(minBackoff); ; pause = min(2*pause, int64(maxBackoff)) {
		n, errno := sysx.TrySendMsg(s.fd, p, oob, &to)
		processor.CountWrite(n, errno)
		switch {
		case errno == 0:
			s.spendWrite(n)
			return n, nil
		case errno != unix.EAGAIN:
			return 0, os.NewSyscallError(call, errno)
		}
		var err error
		if addr == nil {
			err = s.awaitWritableLocked()
		} else {
			err = s.awaitRoomLocked(clock.Real() + pause)
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
func (s *FD) awaitRoomLocked(until int64) error {
	for early := clock.Real() + int64(minBackoff); ; {
		s.pd.Clear(Write)
		s.writeBudget = 0
		err := waitError(s.pd.Wait(s.fd, Write, coroutine.ReasonWrite, until))
		if err != nil || clock.Real() >= early {
			return err
		}
	}
}
