package fd

import (
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// WriteVec sends the pieces of v, waiting for room if need be, and removes the
// sent bytes from v. Parks.
func (f *FD) WriteVec(v *[][]byte) (int64, error) {
	if !f.mu.Lock(Write) {
		return 0, net.ErrClosed
	}
	n, err := f.WriteVecLocked(v)
	f.Unlock(Write)
	return n, err
}

// WriteVecLocked is WriteVec for a caller that has the write lock.
func (f *FD) WriteVecLocked(v *[][]byte) (done int64, err error) {
	err = f.writeWithLocked("writev", func(int) (n int, more bool, errno syscall.Errno) {
		n, errno = f.trySendv(*v)
		done += int64(n)
		Consume(v, int64(n))
		return n, len(*v) > 0, errno
	})
	return done, err
}

// Consume takes n bytes off the front of v, and the empty pieces after them.
func Consume(v *[][]byte, n int64) {
	for len(*v) > 0 {
		size := int64(len((*v)[0]))
		if size > n {
			(*v)[0] = (*v)[0][n:]
			return
		}
		n -= size
		(*v)[0] = nil
		*v = (*v)[1:]
	}
}

// vector describes the pieces to a call. It grows up to 16 KiB and keeps its
// size.
type vector struct{ iovs []unix.Iovec }

var vectors = sync.Pool{New: func() any { return new(vector) }}

// trySendv makes one attempt to send the first pieces, as many as one call may
// move. If they are all empty there is no call.
func (f *FD) trySendv(pieces [][]byte) (n int, errno syscall.Errno) {
	room := sysx.MaxIO
	if f.HasPackets() {
		room = 1 << 30 // a packet goes whole or not at all
	}
	x := vectors.Get().(*vector)
	v := x.iovs[:0]
	for _, p := range pieces {
		if len(p) == 0 {
			continue
		}
		p = p[:min(len(p), room)]
		v = sysx.AppendVec(v, p)
		if room -= len(p); room == 0 || len(v) == sysx.MaxVec && !f.HasPackets() {
			break
		}
	}
	if len(v) > 0 {
		n, errno = sysx.TrySendv(f.fd, v)
		processor.CountWrite(n, errno)
	}
	clear(v) // the pool must not hold the caller's memory
	x.iovs = v
	vectors.Put(x)
	return n, errno
}
