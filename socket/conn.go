package socket

import (
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/processor"
)

// conn is what the connections of all networks have in common. Errors are
// *net.OpError with net's contents, except io.EOF.
type conn struct {
	s socket
	endpoints
}

// init makes a conn of an fd, which it owns from then on.
func (c *conn) init(fd int, n network) {
	c.initKept(fd, n)
	c.s.closeWhenLost()
}

// initKept is init for a connection that a Server has, see socket.initKept.
func (c *conn) initKept(fd int, n network) {
	c.network = n
	c.s.initKept(new(descriptor), fd, n.kind(), n, roleConn)
}

// Read reads what is there into p, waiting for it if need be: at least one byte
// of a stream, with io.EOF at its end, or one packet, of which it drops what
// does not fit. Parks. It does not allocate.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.s.read(p)
	if err != nil && err != io.EOF {
		err = c.opError("read", err)
	}
	return n, err
}

// WaitReadable waits until a Read will probably not have to: data, the end of
// the stream, or an error. No buffer is held meanwhile. It returns a deadline's
// or Close's error as Read does. Parks. It does not allocate.
func (c *conn) WaitReadable() error {
	if err := c.s.waitReadable(); err != nil {
		return c.opError("read", err)
	}
	return nil
}

// Readable reports whether a Read would return at once, with bytes, the end of
// the stream or an error; false if one is under way. It is for connections that
// should be silent, such as those in a pool: it asks the kernel only if there
// may be something. It does not park.
func (c *conn) Readable() bool { return c.s.readable() }

// Write writes all of p, waiting for room if need be. With an error, n is how
// many bytes were written. Parks. It does not allocate.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.s.write(p)
	if err != nil {
		err = c.opError("write", err)
	}
	return n, err
}

// Close closes the connection. Operations under way end with net.ErrClosed. A
// second Close returns net.ErrClosed. It does not park; a goroutine may wait
// for up to 0.1 s for operations in the middle of a system call.
func (c *conn) Close() error { return c.opError("close", c.s.close()) }

// closeWrite ends the sending side; the peer reads io.EOF after what was sent.
func (c *conn) closeWrite() error { return c.shutdown(unix.SHUT_WR) }

// closeRead ends the receiving side.
func (c *conn) closeRead() error { return c.shutdown(unix.SHUT_RD) }

func (c *conn) shutdown(how int) error {
	return c.opError("close", c.s.control(func(fd int) error {
		return sysError("shutdown", unix.Shutdown(fd, how))
	}))
}

// SetDeadline sets when reads and writes, present and future, end with
// os.ErrDeadlineExceeded. The zero time is never. Setting a deadline takes no
// timer and no system call; waiting under one takes a timer.
func (c *conn) SetDeadline(t time.Time) error {
	return c.setError("set", c.s.setDeadline(t, processor.Read, processor.Write))
}

// SetReadDeadline is SetDeadline for reads only.
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.setError("set", c.s.setDeadline(t, processor.Read))
}

// SetWriteDeadline is SetDeadline for writes only.
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.setError("set", c.s.setDeadline(t, processor.Write))
}

// SetReadBuffer sets the size of the kernel's receive buffer in bytes.
func (c *conn) SetReadBuffer(bytes int) error {
	return c.setError("set", c.s.setInt(unix.SOL_SOCKET, unix.SO_RCVBUF, bytes))
}

// SetWriteBuffer sets the size of the kernel's send buffer in bytes.
func (c *conn) SetWriteBuffer(bytes int) error {
	return c.setError("set", c.s.setInt(unix.SOL_SOCKET, unix.SO_SNDBUF, bytes))
}
