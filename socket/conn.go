package socket

import (
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Conn is a TCP connection, a net.Conn. Its errors are *net.OpError with net's contents, except io.EOF.
type Conn struct {
	s             socket
	local, remote sysx.RawAddr
}

var _ net.Conn = (*Conn)(nil)

// newConn makes a Conn of a connected fd, which it owns from then on.
func newConn(fd int) *Conn {
	c := new(Conn)
	c.s.init(fd)
	c.local.LocalAddr(fd)
	return c
}

// opError wraps err as net does.
func (c *Conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Read reads what is there into p, at least one byte, waiting for it if need be. At the end of the stream it returns
// io.EOF. Parks. It does not allocate.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.s.read(p)
	if err != nil {
		err = c.opError("read", err)
	}
	return n, err
}

// WaitReadable waits until a Read will probably not have to: data, the end of the stream, or an error. No buffer is held
// meanwhile. It returns a deadline's or Close's error as Read does. Parks. It does not allocate.
func (c *Conn) WaitReadable() error {
	if err := c.s.waitReadable(); err != nil {
		return c.opError("read", err)
	}
	return nil
}

// Write writes all of p, waiting for room if need be. With an error, n tells how much was written. Parks. It does not
// allocate.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.s.write(p)
	if err != nil {
		err = c.opError("write", err)
	}
	return n, err
}

// Close closes the connection. Operations under way end with net.ErrClosed. A second Close returns net.ErrClosed.
func (c *Conn) Close() error { return c.opError("close", c.s.close()) }

// CloseWrite ends the sending side; the peer reads io.EOF after what was sent.
func (c *Conn) CloseWrite() error { return c.shutdown(unix.SHUT_WR) }

// CloseRead ends the receiving side.
func (c *Conn) CloseRead() error { return c.shutdown(unix.SHUT_RD) }

func (c *Conn) shutdown(how int) error {
	return c.opError("close", c.s.control(func(fd int) error {
		return sysError("shutdown", unix.Shutdown(fd, how))
	}))
}

// LocalAddr returns the local address, a *net.TCPAddr.
func (c *Conn) LocalAddr() net.Addr { return tcpAddr(&c.local) }

// RemoteAddr returns the peer's address, a *net.TCPAddr.
func (c *Conn) RemoteAddr() net.Addr { return tcpAddr(&c.remote) }

// SetDeadline sets when reads and writes, present and future, end with os.ErrDeadlineExceeded. The zero time is never.
// Setting a deadline takes no timer and no system call; waiting under one takes a timer.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.opError("set", c.s.setDeadline(t, processor.Read, processor.Write))
}

// SetReadDeadline is SetDeadline for reads only.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.opError("set", c.s.setDeadline(t, processor.Read))
}

// SetWriteDeadline is SetDeadline for writes only.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.opError("set", c.s.setDeadline(t, processor.Write))
}

// SetNoDelay turns Nagle's algorithm off (the default) or on.
func (c *Conn) SetNoDelay(noDelay bool) error {
	return c.opError("set", c.s.setInt(unix.IPPROTO_TCP, unix.TCP_NODELAY, boolInt(noDelay)))
}

// SetKeepAlive turns keep-alive probes on (the default, every 15 s) or off.
func (c *Conn) SetKeepAlive(keepAlive bool) error {
	return c.opError("set", c.s.setInt(unix.SOL_SOCKET, unix.SO_KEEPALIVE, boolInt(keepAlive)))
}

// SetLinger sets what Close does with data not sent yet: sec < 0, the default, sends it in the background; 0 drops it and
// resets the connection; otherwise the kernel goes on for sec seconds at most.
func (c *Conn) SetLinger(sec int) error {
	return c.opError("set", c.s.control(func(fd int) error {
		l := unix.Linger{Onoff: int32(boolInt(sec >= 0)), Linger: int32(max(sec, 0))}
		return sysError("setsockopt", unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &l))
	}))
}

// SetReadBuffer sets the size of the kernel's receive buffer in bytes.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.opError("set", c.s.setInt(unix.SOL_SOCKET, unix.SO_RCVBUF, bytes))
}

// SetWriteBuffer sets the size of the kernel's send buffer in bytes.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.opError("set", c.s.setInt(unix.SOL_SOCKET, unix.SO_SNDBUF, bytes))
}

// tcpAddr converts an address; nil if there is none.
func tcpAddr(a *sysx.RawAddr) net.Addr {
	ap, zone := a.AddrPort()
	if !ap.IsValid() {
		return nil
	}
	ip := ap.Addr().Unmap()
	if zone != 0 {
		ip = ip.WithZone(zoneName(zone))
	}
	return &net.TCPAddr{IP: ip.AsSlice(), Port: int(ap.Port()), Zone: ip.Zone()}
}

// zones remembers the names of interfaces: asking for one costs a dump of the routing table.
var zones atomic.Pointer[map[uint32]string]

func zoneName(zone uint32) string {
	known := zones.Load()
	if known != nil {
		if name, ok := (*known)[zone]; ok {
			return name
		}
	}
	name := strconv.Itoa(int(zone))
	if ifi, err := net.InterfaceByIndex(int(zone)); err == nil {
		name = ifi.Name
	}
	next := map[uint32]string{zone: name}
	if known != nil {
		for z, n := range *known {
			next[z] = n
		}
	}
	zones.Store(&next)
	return name
}
