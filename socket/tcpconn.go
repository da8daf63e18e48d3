package socket

import (
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// TCPConn is a TCP connection, a net.Conn. Errors are *net.OpError with net's
// contents, except io.EOF.
type TCPConn struct{ conn }

var (
	_ net.Conn      = (*TCPConn)(nil)
	_ io.ReaderFrom = (*TCPConn)(nil)
	_ io.WriterTo   = (*TCPConn)(nil)
)

// newKeptTCPConn makes a TCPConn of a connected fd, which it owns from then on,
// see conn.initKept.
func newKeptTCPConn(fd int, n network) *TCPConn {
	c := new(TCPConn)
	c.initKept(fd, n)
	c.local.LocalAddr(fd)
	return c
}

// ReadFrom copies from r to the connection until r ends, which is no error, and
// returns how many bytes the connection took. io.Copy and io.CopyN use it.
// Errors are *net.OpError with Op "readfrom". Parks. From streams it does not
// allocate.
//
// From a stream connection of this package, or an *io.LimitedReader of one, it
// splices bulk data, without copying it, and copies small amounts through a
// buffer of the Processor; while it waits for r it holds neither pipe nor
// buffer. Bytes that it has taken from r, and that the connection then fails to
// send because of an error or a deadline, are lost, as with net.
//
// From a regular *os.File, or an *io.LimitedReader of one, it uses sendfile,
// 512 KiB at a time, from the file's position, which moves by the bytes sent.
// Sendfile blocks while the disk is read: send files that are probably not in
// memory on an ordinary goroutine.
//
// From anything else it copies through a buffer of the Processor, or lets r do
// it if that is an io.WriterTo.
func (c *TCPConn) ReadFrom(r io.Reader) (int64, error) { return c.readFrom(r) }

// WriteTo copies from the connection to w until the end of the stream, which is
// no error, and returns how many bytes w took. io.Copy uses it. Errors are
// *net.OpError with Op "writeto". To a stream connection of this package it
// copies as ReadFrom does; to anything else through a buffer of the Processor,
// which it holds only while the buffer has data. Parks.
func (c *TCPConn) WriteTo(w io.Writer) (int64, error) { return c.writeTo(w) }

// CloseWrite ends the sending side; the peer reads io.EOF after the sent bytes.
func (c *TCPConn) CloseWrite() error { return c.shutdown(unix.SHUT_WR) }

// CloseRead ends the receiving side.
func (c *TCPConn) CloseRead() error { return c.shutdown(unix.SHUT_RD) }

// RemoteAddrPort returns the peer's address as RemoteAddr does, in a form that
// allocates nothing and is not cached.
func (c *TCPConn) RemoteAddrPort() netip.AddrPort { return addrPort(&c.remote) }

// SetNoDelay turns Nagle's algorithm off (the default) or on.
func (c *TCPConn) SetNoDelay(noDelay bool) error {
	return c.opError("set", c.s.SetInt(unix.IPPROTO_TCP, unix.TCP_NODELAY, boolInt(noDelay)))
}

// SetKeepAlive turns keep-alive probes on (the default, every 15 s) or off.
func (c *TCPConn) SetKeepAlive(keepAlive bool) error {
	return c.opError("set", c.s.SetInt(unix.SOL_SOCKET, unix.SO_KEEPALIVE, boolInt(keepAlive)))
}

// SetKeepAlivePeriod sets how long the connection is idle before the first
// probe, rounded up to seconds. 0 is 15 s, a negative period changes nothing.
func (c *TCPConn) SetKeepAlivePeriod(d time.Duration) error {
	return c.opError("set", c.s.Control(func(fd int) error {
		return setSeconds(fd, unix.TCP_KEEPIDLE, d)
	}))
}

// SetKeepAliveConfig sets all of keep-alive, with the defaults of
// net.KeepAliveConfig.
func (c *TCPConn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.opError("set", c.s.Control(func(fd int) error { return setKeepAlive(fd, config) }))
}

// SetLinger sets what Close does with unsent data: 0 drops it and resets the
// connection; other values send it in the background. With sec > 0 net's Close
// waits for that, sec seconds at most; this Close does not: it turns the option
// off first, also for other fds of the socket.
func (c *TCPConn) SetLinger(sec int) error {
	return c.opError("set", c.s.Control(func(fd int) error {
		l := unix.Linger{Onoff: int32(boolInt(sec >= 0)), Linger: int32(max(sec, 0))}
		return sysError("setsockopt", unix.SetsockoptLinger(fd, unix.SOL_SOCKET,
			unix.SO_LINGER, &l))
	}))
}

// The keep-alive that net sets on every TCP connection.
const (
	defaultKeepAlive = 15 * time.Second // idle time and interval
	defaultKeepCount = 9
)

// setDefaults sets the options that net sets on every TCP connection.
func setDefaults(fd int) {
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	setKeepAlive(fd, net.KeepAliveConfig{Enable: true})
}

func setKeepAlive(fd int, k net.KeepAliveConfig) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE,
		boolInt(k.Enable)); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := setSeconds(fd, unix.TCP_KEEPIDLE, k.Idle); err != nil {
		return err
	}
	if err := setSeconds(fd, unix.TCP_KEEPINTVL, k.Interval); err != nil {
		return err
	}
	switch {
	case k.Count == 0:
		k.Count = defaultKeepCount
	case k.Count < 0:
		return nil
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP,
		unix.TCP_KEEPCNT, k.Count))
}

// setSeconds sets a time of keep-alive; 0 is net's default, a negative time
// changes nothing.
func setSeconds(fd, option int, d time.Duration) error {
	switch {
	case d == 0:
		d = defaultKeepAlive
	case d < 0:
		return nil
	}
	sec := int((d + time.Second - 1) / time.Second)
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, option, sec))
}
