package socket

import (
	"io"
	"net"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// Buffers is zero or more pieces to write, like net.Buffers. Writing them to a
// stream of this package takes as few system calls as the kernel allows: one
// for up to 1024 pieces and 128 KiB, as long as the peer keeps up.
type Buffers [][]byte

var (
	_ io.WriterTo = (*Buffers)(nil)
	_ io.Reader   = (*Buffers)(nil)
)

// WriteTo writes the pieces to w, waiting for room if need be, and removes the
// written bytes from b: after an error b holds the unwritten rest, and n counts
// the written bytes. It sets elements of b and shortens b, but changes no byte.
// To a *TCPConn or *UnixConn the pieces go together, and no other caller's
// bytes come between them; to a *UDPConn they make one datagram. Errors are
// those of WriteBuffers. To any other writer they go one by one. Parks. It does
// not allocate by itself.
func (b *Buffers) WriteTo(w io.Writer) (n int64, err error) {
	switch c := w.(type) {
	case *TCPConn:
		return c.writeBuffers(b)
	case *UnixConn:
		return c.writeBuffers(b)
	case *UDPConn:
		return c.writeBuffers(b)
	case plainWriter:
		return c.c.writeBuffers(b)
	}
	for _, p := range *b {
		done, err := w.Write(p)
		n += int64(done)
		if err != nil {
			fd.Consume((*[][]byte)(b), n)
			return n, err
		}
	}
	fd.Consume((*[][]byte)(b), n)
	return n, nil
}

// Read copies from the pieces into p and removes the copied bytes from b. At
// the end of the last piece it returns io.EOF, which may come together with
// bytes.
func (b *Buffers) Read(p []byte) (n int, err error) {
	for n < len(p) && len(*b) > 0 {
		got := copy(p[n:], (*b)[0])
		fd.Consume((*[][]byte)(b), int64(got))
		n += got
	}
	if len(*b) == 0 {
		err = io.EOF
	}
	return n, err
}

// writeBuffers is WriteBuffers for all types that have one.
func (c *conn) writeBuffers(v *Buffers) (int64, error) {
	n, err := c.s.WriteVec((*[][]byte)(v))
	return n, c.opError("writev", err)
}

// WriteBuffers writes and consumes v, see TCPConn.WriteBuffers. On a packet
// socket the pieces make one packet, as with net.
func (c *UnixConn) WriteBuffers(v *net.Buffers) (int64, error) {
	return c.writeBuffers((*Buffers)(v))
}

// WriteBuffers writes and consumes v, as net.Buffers.WriteTo does with a
// connection of package net. With connections of other packages net's own
// WriteTo writes the pieces one by one. Errors are *net.OpError with Op
// "writev". Parks. It does not allocate.
func (c *TCPConn) WriteBuffers(v *net.Buffers) (int64, error) {
	return c.writeBuffers((*Buffers)(v))
}

// Buffer is memory lent by a Processor, see AcquireBuffer.
type Buffer = processor.Buffer

// AcquireBuffer lends a buffer (16 KiB by default) from the calling coroutine's
// Processor: the one released last, which is still in the cache. Release it
// before the next wait. An ordinary goroutine gets one from a common pool.
//
// It does not allocate once the pool is filled. It parks only if
// Options.BufferMemory is used up: until a buffer is released, or until a
// forced shutdown unwinds the coroutine. A coroutine that holds one buffer and
// waits for another may wait for ever: take the second by TryAcquireBuffer.
func AcquireBuffer() *Buffer { return processor.AcquireBuffer() }

// TryAcquireBuffer is AcquireBuffer that does not park: it returns nil if
// Options.BufferMemory is used up.
func TryAcquireBuffer() *Buffer { return processor.TryAcquireBuffer() }
