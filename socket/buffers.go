package socket

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Buffers is zero or more pieces to write, as net.Buffers is. To a stream of
// this package they go with as few system calls as the kernel allows: one for
// up to 1024 pieces and 128 KiB, as far as the peer keeps up.
type Buffers [][]byte

var (
	_ io.WriterTo = (*Buffers)(nil)
	_ io.Reader   = (*Buffers)(nil)
)

// WriteTo writes the pieces to w, waiting for room if need be, and takes them
// off v, in part if w took a part: after an error v has what was not written,
// and n is how many bytes were. It sets elements of v and shortens v, but
// changes no byte. To a *TCPConn or *UnixConn the pieces go together, and
// nothing that others write comes between them; errors are those of
// WriteBuffers. To any other writer they go one by one. Parks. It does not
// allocate by itself.
func (v *Buffers) WriteTo(w io.Writer) (n int64, err error) {
	switch c := w.(type) {
	case *TCPConn:
		return c.writeBuffers(v)
	case *UnixConn:
		return c.writeBuffers(v)
	case plainWriter:
		return c.c.writeBuffers(v)
	}
	for _, p := range *v {
		done, err := w.Write(p)
		n += int64(done)
		if err != nil {
			v.consume(n)
			return n, err
		}
	}
	v.consume(n)
	return n, nil
}

// Read copies from the pieces into p and takes off v what it copied. At the end
// of the last one it returns io.EOF, which may come together with bytes.
func (v *Buffers) Read(p []byte) (n int, err error) {
	for n < len(p) && len(*v) > 0 {
		got := copy(p[n:], (*v)[0])
		v.consume(int64(got))
		n += got
	}
	if len(*v) == 0 {
		err = io.EOF
	}
	return n, err
}

// consume takes n bytes off the front, and the empty pieces after them.
func (v *Buffers) consume(n int64) {
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

// writeBuffers is WriteBuffers for all types that have one.
func (c *conn) writeBuffers(v *Buffers) (int64, error) {
	n, err := c.s.writeVec(v)
	if err != nil {
		err = c.opError("writev", err)
	}
	return n, err
}

// WriteBuffers writes and consumes v, see TCPConn.WriteBuffers. On a socket for
// packets the pieces make one packet, as with net.
func (c *UnixConn) WriteBuffers(v *net.Buffers) (int64, error) {
	return c.writeBuffers((*Buffers)(v))
}

// WriteBuffers writes and consumes v as net.Buffers.WriteTo does with a
// connection of package net, which net's own WriteTo cannot do with one of
// another package: it would write the pieces one by one. Errors are
// *net.OpError with Op "writev". Parks. It does not allocate.
func (c *TCPConn) WriteBuffers(v *net.Buffers) (int64, error) {
	return c.writeBuffers((*Buffers)(v))
}

func (s *socket) writeVec(v *Buffers) (int64, error) {
	if !s.mu.lock(writing) {
		return 0, net.ErrClosed
	}
	n, err := s.writeVecLocked(v)
	if s.mu.unlock(writing) {
		s.destroy()
	}
	return n, err
}

func (s *socket) writeVecLocked(v *Buffers) (done int64, err error) {
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, verdictError(v)
	}
	for {
		n, errno := s.trySendv(*v)
		done += int64(n)
		v.consume(int64(n))
		switch {
		case errno == 0:
			if n > 0 {
				s.spendWrite(n)
			}
			if len(*v) == 0 {
				return done, nil
			}
		case errno != unix.EAGAIN:
			return done, os.NewSyscallError("writev", errno)
		default:
			if err := s.awaitWritableLocked(); err != nil {
				return done, err
			}
		}
	}
}

// vector describes the pieces to a call. It grows to the most that was ever
// needed, 16 KiB.
type vector struct{ iovs []unix.Iovec }

var vectors = sync.Pool{New: func() any { return new(vector) }}

// trySendv sends what the socket takes of the first pieces: all that one call
// may move. If they are all empty there is no call.
func (s *socket) trySendv(pieces [][]byte) (n int, errno syscall.Errno) {
	room := sysx.MaxIO
	if s.kind.isPackets() {
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
		if room -= len(p); room == 0 || len(v) == sysx.MaxVec && !s.kind.isPackets() {
			break
		}
	}
	if len(v) > 0 {
		n, errno = sysx.TrySendv(s.fd, v)
		processor.CountWrite(n, errno)
	}
	clear(v) // the pool must not hold the caller's memory
	x.iovs = v
	vectors.Put(x)
	return n, errno
}
