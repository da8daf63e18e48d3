package socket

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/sysx"
)

// UnixListener is a listener on a Unix socket, a net.Listener. Several
// coroutines may accept from it. Errors are *net.OpError with net's contents.
type UnixListener struct {
	listener
	names addrs

	unlink atomic.Bool // the first Close removes the file
	closed atomic.Bool // Close was called
}

var (
	_ net.Listener = (*UnixListener)(nil)
	_ syscall.Conn = (*UnixListener)(nil)
)

// newUnixListener makes a UnixListener of a listening fd, which it owns from
// then on.
func newUnixListener(fd int, n network) *UnixListener {
	l := new(UnixListener)
	l.init(fd, n)
	l.names.local = addrOf(localName(fd, n))
	l.at.known.Store(&l.names)
	return l
}

// local is the address listened on; nil if the kernel has none.
func (l *UnixListener) local() *net.UnixAddr {
	a, _ := l.names.local.(*net.UnixAddr)
	return a
}

// Accept waits for the next connection and returns it, a *UnixConn. It fails,
// and pauses without failing, as TCPListener's Accept does. Parks.
func (l *UnixListener) Accept() (net.Conn, error) { return as[net.Conn](l.AcceptUnix()) }

// AcceptUnix is Accept with the connection's own type.
func (l *UnixListener) AcceptUnix() (*UnixConn, error) {
	c, err := l.acceptKept()
	if err == nil {
		c.s.CloseWhenLost()
	}
	return c, err
}

// acceptKept is AcceptUnix for a Server, see conn.initKept.
func (l *UnixListener) acceptKept() (*UnixConn, error) {
	var from sysx.RawAddr
	fd, in, err := l.s.Accept(&from, l)
	if err != nil {
		return nil, l.at.setError("accept", err)
	}
	n := l.at.network
	remote := &net.UnixAddr{Name: "@", Net: n.String()} // net's address for a peer without a name
	if !from.Unnamed() {
		remote = peerName(fd, n)
	}
	c := newKeptUnixConn(fd, n, l.local(), remote)
	c.s.SetRoom(in)
	return c, nil
}

// Close stops listening and removes the socket's file, if Listen or ListenUnix
// made it and SetUnlinkOnClose did not say otherwise. Accepts under way end
// with net.ErrClosed; accepted connections stay open. It parks while the file
// is removed, which does not wait for the program's calls through package
// blocking.
func (l *UnixListener) Close() error {
	if l == nil {
		return syscall.EINVAL // as net's
	}
	if first := !l.closed.Swap(true); first && l.unlink.Load() {
		if path := l.local().Name; path != "" && path[0] != '@' {
			removeFile(path)
		}
	}
	return l.listener.Close()
}

// files makes and removes the files of Unix sockets. In the default pool these
// calls could wait for the program's own, which may wait for a client of such a
// socket.
var files blocking.Pool

// removeFile unlinks path where that holds up no coroutine. A coroutine that is
// ended by force cannot wait, and unlinks in place unless the pool has begun
// to.
func removeFile(path string) {
	var begun atomic.Bool
	remove := func() {
		if !begun.Swap(true) {
			unix.Unlink(path)
		}
	}
	if files.Do(context.Background(), remove) != nil {
		remove()
	}
}

// SetUnlinkOnClose sets whether Close removes the socket's file. By default it
// does if Listen or ListenUnix made the file, and does not for FileListener's
// listeners.
func (l *UnixListener) SetUnlinkOnClose(unlink bool) { l.unlink.Store(unlink) }

// netListenUnix is net.ListenUnix.
func netListenUnix(network string, laddr *net.UnixAddr) (*UnixListener, error) {
	return openElsewhere(&files, func() (*UnixListener, error) {
		theirs, err := net.ListenUnix(network, laddr)
		if err != nil {
			return nil, err
		}
		return takeUnixListener(theirs)
	})
}

// takeUnixListener makes a UnixListener of net's listener, which it always
// closes: the file stays if there is no error.
func takeUnixListener(theirs *net.UnixListener) (*UnixListener, error) {
	n, _ := parseNetwork(theirs.Addr().Network())
	return take("listen", n, theirs, theirs.Addr(), func(fd int) *UnixListener {
		theirs.SetUnlinkOnClose(false)
		l := newUnixListener(fd, n)
		l.unlink.Store(true)
		return l
	})
}

// netListenUnixgram is net.ListenUnixgram. As with net, its file stays when it
// is closed.
func netListenUnixgram(network string, laddr *net.UnixAddr) (*UnixConn, error) {
	return openElsewhere(&files, func() (*UnixConn, error) {
		theirs, err := net.ListenUnixgram(network, laddr)
		return taken[*UnixConn]("listen", network, false, theirs, err)
	})
}

// openElsewhere runs fn, which may wait for a disk or a peer, in a pool, where
// it holds up no coroutine. If the caller's wait is ended by force, it closes
// what fn opens later.
func openElsewhere[T io.Closer](pool *blocking.Pool, fn func() (T, error)) (none T, err error) {
	var o struct {
		value T
		err   error
		over  atomic.Bool // fn has returned, or the caller has given up; the later closes
	}
	err = pool.Do(context.Background(), func() {
		if o.value, o.err = fn(); o.over.Swap(true) && o.err == nil {
			o.value.Close()
		}
	})
	if err == nil {
		return o.value, o.err
	}
	if o.over.Swap(true) && o.err == nil {
		o.value.Close()
	}
	return none, err
}
