package socket

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
)

// Buffered is a Stream with a buffer for each direction, which sends the
// written bytes by itself when its reader would have to wait. A server that
// answers pipelined requests thus makes one read and one write for all requests
// that came together, without a call of Flush, and no answer stays unsent while
// the server waits for the next request.
//
// Written bytes are sent
//
//   - by a read that finds nothing to read, before it waits or returns an error
//     (unless SetAutoFlush has turned that off);
//   - by every eighth read of a reader that always finds something;
//   - when the buffer is full, and by Flush, CloseWrite and, as far as the
//     socket takes it at once, by Close.
//
// A read that is served from the buffer does not wait, but yields when the
// Processor's turn has lasted for half a millisecond: a client that sends many
// requests at once does not starve other coroutines.
//
// Before it waits for something else, a lock or a Sleep, a coroutine should
// call Flush, or the peer waits as well. A read that has to send waits for
// room, under the write deadline: so netco does not read from a peer that does
// not take its answers.
//
// The buffers are AcquireBuffer's, held only while they hold bytes: a
// connection whose reader waits with nothing buffered holds none. Slices that
// Peek, ReadSlice and ReadLine return point into the buffer and are good until
// the next read.
//
// One coroutine or goroutine may read at a time. Any number may write, at the
// same time too, and the bytes of one Write stay together; AvailableBuffer is
// for a single writer. Bytes that another caller than the reader has written
// are sent by that caller's Flush, or before the reader's next wait. If the
// reader and the writer are two coroutines, and both ends of the connection
// write much, turn SetAutoFlush off: the reader then never waits for room, so
// the two ends cannot wait for each other. Close and the deadlines may be
// called by any coroutine or goroutine. Do not read or write the Stream itself
// beside the Buffered.
//
// A write error is sticky, even a deadline's: the call that meets it, which may
// be a read that had to send, returns it, and so does every later write. Unsent
// bytes are dropped.
type Buffered struct {
	stream Stream
	c      *conn  // of stream
	s      *fd.FD // c's

	// The reading side. Owner: the reader.
	in    []byte  // in[r:w] has been received and not been taken
	inBuf *Buffer // the memory of in, unless in has outgrown it
	r, w  int
	limit int
	reads uint8 // since the last automatic flush
	turn  turnCheck

	manual bool // constant once in use: no automatic flush

	// needsFlush is set by a reader that finds the write lock taken: the lock's
	// holder then sends, see unlock.
	needsFlush atomic.Bool

	// The writing side, under s.mu's write lock.
	out    []byte
	outBuf *Buffer // the memory of out
	start  int     // out[start:end] is to be sent
	end    int
	lent   bool  // AvailableBuffer has given out[end:] away
	werr   error // the first error
}

var _ net.Conn = (*Buffered)(nil)

const (
	// defaultLimit is how much may be buffered for one Peek or line.
	defaultLimit = 64 << 10
	// Reads and writes of direct bytes or more go past the buffer.
	direct = 16 << 10
	// After maxReads reads in a row that find data, the written bytes are sent
	// all the same.
	maxReads = 8
)

// NewBuffered returns a Buffered for c. Nothing else may read or write c from
// then on. It panics if c is a connection for packets, or a type that embeds a
// connection: a Buffered bypasses its Read and Write. So it takes no TLS
// connection: the package comment of netco/tls shows the same with bufio. It
// allocates the Buffered and no buffer.
func NewBuffered(c Stream) *Buffered {
	b := connOf(c)
	if b == nil {
		panic(fmt.Sprintf("netco/socket: NewBuffered of a %T, want a *TCPConn, *UnixConn or "+
			"*ServerConn itself; for TLS see the package comment of netco/tls", c))
	}
	if b.s.HasPackets() {
		panic("netco/socket: NewBuffered of a connection that is no stream: " + b.network.String())
	}
	return &Buffered{c: b, s: &b.s, stream: c, limit: defaultLimit}
}

// SetLimit sets how many bytes Peek, ReadSlice and ReadLine may gather, 64 KiB
// if it is not called. Beyond that, and beyond a buffer's size, they return
// ErrTooLong. The reader calls it.
func (b *Buffered) SetLimit(bytes int) { b.limit = bytes }

// SetAutoFlush sets whether reads send the written bytes; they do by default.
// Call it before two callers use the Buffered.
func (b *Buffered) SetAutoFlush(on bool) { b.manual = !on }

// Close sends as many of the written bytes as the socket takes without waiting,
// and closes the connection. If some are left it returns io.ErrShortWrite, in a
// *net.OpError; call Flush first to wait until all are sent. While another
// caller is inside a write, or a read that sends, that call sends in place of
// Close, and returns net.ErrClosed if some are left. A second Close returns
// net.ErrClosed. It does not park.
func (b *Buffered) Close() error {
	var unsent error
	err := b.s.CloseAfter(func() { unsent = b.lastLocked() })
	if unsent != nil {
		err = unsent
	}
	return b.c.opError("close", err)
}

// lastLocked sends as many bytes as it can and drops the rest.
func (b *Buffered) lastLocked() (err error) {
	for b.start < b.end && err == nil {
		n, errno := b.s.TrySend(b.out[b.start:b.end])
		b.start += n
		if errno == unix.EAGAIN {
			err = io.ErrShortWrite
		} else if errno != 0 {
			err = sysError("write", errno)
		}
	}
	b.start, b.end = 0, 0
	b.dropLocked()
	return err
}

// CloseWrite sends the written bytes and ends the sending side. Parks.
func (b *Buffered) CloseWrite() error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.stream.CloseWrite()
}

// LocalAddr returns the local address.
func (b *Buffered) LocalAddr() net.Addr { return b.stream.LocalAddr() }

// RemoteAddr returns the peer's address.
func (b *Buffered) RemoteAddr() net.Addr { return b.stream.RemoteAddr() }

// SetDeadline sets when reads and writes, present and future, end with
// os.ErrDeadlineExceeded.
func (b *Buffered) SetDeadline(t time.Time) error { return b.stream.SetDeadline(t) }

// SetReadDeadline is SetDeadline for reads only. A read that ends by its
// deadline has taken nothing and may be repeated.
func (b *Buffered) SetReadDeadline(t time.Time) error { return b.stream.SetReadDeadline(t) }

// SetWriteDeadline is SetDeadline for writes, and for reads while they send.
func (b *Buffered) SetWriteDeadline(t time.Time) error { return b.stream.SetWriteDeadline(t) }
