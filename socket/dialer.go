package socket

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/netco-go/netco/coroutine"
)

// Dialer has the settings of Dial. The zero value is what Dial uses. Its fields
// are those of net.Dialer and mean the same. Its methods may be called
// concurrently. Hooks of net/http/httptrace in a context are called as package
// net calls them. Errors are *net.OpError with net's contents.
//
// An address is dialled by the caller. A host that has to be looked up is
// dialled by a net.Dialer, for a coroutine on an ordinary goroutine: there the
// hooks are called as well, and Control.
type Dialer struct {
	// Timeout is how long a dial may take, look-up included, and Deadline until
	// when; the earlier counts, and a context's deadline as well. Zero is no
	// limit of netco's own. Several addresses of one name share the time.
	Timeout  time.Duration
	Deadline time.Time

	// LocalAddr is the address to dial from, of the network's type; nil is any.
	LocalAddr net.Addr

	// DualStack has no effect.
	//
	// Deprecated: a negative FallbackDelay turns off what it turned on.
	DualStack bool

	// FallbackDelay is how long a connection to the family that a name's first
	// address is of may take until the other family is tried too; the first to
	// be connected counts (RFC 6555). 0 is 300 ms; negative tries all addresses
	// one after the other. It is for network tcp only.
	FallbackDelay time.Duration

	// KeepAlive is the idle time before the first keep-alive probe of a TCP
	// connection: 0 is 15 s, negative is no probes. KeepAliveConfig goes before
	// it if it is enabled.
	KeepAlive       time.Duration
	KeepAliveConfig net.KeepAliveConfig

	// Resolver looks up names; nil is netco/net's DefaultResolver.
	Resolver *Resolver

	// Cancel ends the dial when it is closed.
	//
	// Deprecated: use DialContext.
	Cancel <-chan struct{}

	// Control, if it is not nil, is called with the fd of each attempt before
	// it is connected or bound. network is tcp4, tcp6, udp4, udp6 or one of
	// Unix. It may set options; it cannot keep c, and it must not wait.
	// ControlContext goes before it if both are set.
	Control        func(network, address string, c syscall.RawConn) error
	ControlContext func(ctx context.Context, network, address string, c syscall.RawConn) error
}

// MultipathTCP reports whether Multipath TCP is used: false.
func (d *Dialer) MultipathTCP() bool { return false }

// SetMultipathTCP exists for code that sets it on a net.Dialer, and has no
// effect: connections are plain TCP, as those are with a net.Dialer when the
// host or the peer has nothing else.
func (d *Dialer) SetMultipathTCP(use bool) {}

// Dial connects to an address, as net.Dial does and with its errors. The
// network is tcp, tcp4, tcp6, udp, udp4, udp6, unix, unixgram or unixpacket;
// the result is a *TCPConn, *UDPConn or *UnixConn. Parks.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext is Dial that ends when ctx does, with net's error for that. A
// connection that it has returned does not depend on ctx any more.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	n, err := parseNetwork(network)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	to, err := d.target(n, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if to == nil {
		return d.dialElsewhere(ctx, n, address)
	}
	l, stop := d.limits(ctx)
	defer stop()
	if err := l.err(); err != nil {
		return nil, d.opError(n, to, err)
	}
	return d.single(l, n, to)
}

// dialElsewhere has package net dial what takes a look-up, or has an error.
func (d *Dialer) dialElsewhere(ctx context.Context, n network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also where the caller is ended by force
	theirs := d.nets()
	theirs.Resolver = d.Resolver.asked()
	c, err := openElsewhere(lookups, func() (net.Conn, error) {
		c, err := theirs.DialContext(ctx, n.String(), address)
		if err != nil {
			return nil, err
		}
		return takeConn("dial", n, true, c)
	})
	op, ok := err.(*net.OpError)
	switch {
	case ok && op.Err.Error() == errTimeout.Error():
		op.Err = errTimeout // of net's two only one is a context's
	case err == coroutine.ErrShutdown:
		err = &net.OpError{Op: "dial", Net: n.String(), Err: err}
	}
	return c, err
}

// nets returns a Dialer of package net with the same settings, but for the
// Resolver.
func (d *Dialer) nets() *net.Dialer {
	return &net.Dialer{
		Timeout: d.Timeout, Deadline: d.Deadline, LocalAddr: d.LocalAddr,
		FallbackDelay: d.FallbackDelay, KeepAlive: d.KeepAlive, KeepAliveConfig: d.KeepAliveConfig,
		Cancel: d.Cancel, Control: d.Control, ControlContext: d.ControlContext,
	}
}

// DialTCP connects to one TCP address, from laddr if that is valid. An address
// without an IP is this host's. Parks.
func (d *Dialer) DialTCP(ctx context.Context, network string, laddr,
	raddr netip.AddrPort) (*TCPConn, error) {
	return dialOne(ctx, d, network, tcp, net.TCPAddrFromAddrPort(laddr),
		net.TCPAddrFromAddrPort(raddr), d.dialTCP)
}

// DialUDP is DialTCP for the networks of UDP. It does not park.
func (d *Dialer) DialUDP(ctx context.Context, network string, laddr,
	raddr netip.AddrPort) (*UDPConn, error) {
	return dialOne(ctx, d, network, udp, net.UDPAddrFromAddrPort(laddr),
		net.UDPAddrFromAddrPort(raddr), d.dialUDP)
}

// DialUnix connects to a Unix socket, from laddr if that is not nil. The
// network is unix, unixgram or unixpacket. A name that begins with @ is an
// abstract one, which is no file. A unixgram socket with a laddr needs no
// raddr.
//
// The kernel connects at once or not at all, so this does not park; as with
// net, a stream's or packet listener that does not accept and whose queue is
// full gives EAGAIN.
func (d *Dialer) DialUnix(ctx context.Context, network string, laddr,
	raddr *net.UnixAddr) (*UnixConn, error) {
	return dialOne(ctx, d, network, unixNet, laddr, raddr, d.dialUnix)
}

// The functions of package net that dial one address, which may be nil.

func netDialTCP(network string, laddr, raddr *net.TCPAddr) (*TCPConn, error) {
	d := new(Dialer)
	return dialOne(context.Background(), d, network, tcp, laddr, raddr, d.dialTCP)
}

func netDialUDP(network string, laddr, raddr *net.UDPAddr) (*UDPConn, error) {
	d := new(Dialer)
	return dialOne(context.Background(), d, network, udp, laddr, raddr, d.dialUDP)
}

func netDialUnix(network string, laddr, raddr *net.UnixAddr) (*UnixConn, error) {
	return new(Dialer).DialUnix(context.Background(), network, laddr, raddr)
}

// dialOne dials one address, on a network like another.
func dialOne[C any, A interface {
	comparable
	net.Addr
}](ctx context.Context, d *Dialer, name string, other network, from, to A,
	dial func(l limits, n network, from, to A) (C, error)) (c C, err error) {
	var none A
	n, err := parseNetwork(name)
	switch {
	case err != nil || !n.like(other):
		err = net.UnknownNetworkError(name)
	case to == none && !n.isUnix():
		err = errMissingAddress
	default:
		l, stop := d.limits(ctx)
		defer stop()
		c, err = dial(l, n, from, to)
	}
	if err != nil {
		err = &net.OpError{Op: "dial", Net: name, Source: addrOf(from), Addr: addrOf(to), Err: err}
	}
	return c, err
}

// limits are what ends a dial early. stop is to be called when it is over.
func (d *Dialer) limits(ctx context.Context) (l limits, stop func()) {
	if ctx == nil {
		panic("netco/socket: nil context")
	}
	l = limits{ctx: ctx, until: d.Deadline}
	if d.Timeout != 0 {
		l.until = earliest(l.until, time.Now().Add(d.Timeout))
	}
	if t, ok := ctx.Deadline(); ok {
		l.until = earliest(l.until, t)
	}
	if d.Cancel == nil {
		return l, func() {}
	}
	var cancel context.CancelFunc
	l.ctx, cancel = context.WithCancel(ctx)
	go func(done <-chan struct{}) {
		select {
		case <-d.Cancel:
			cancel()
		case <-done:
		}
	}(l.ctx.Done())
	return l, cancel
}

// hook returns what calls Control or ControlContext, if there is one, for a new
// fd. v6 says which family the socket is of.
func (d *Dialer) hook(l limits, n network, address string, v6 bool) func(fd int) error {
	if d.Control == nil && d.ControlContext == nil {
		return func(int) error { return nil }
	}
	name := n.String()
	if !n.isUnix() && !strings.HasSuffix(name, "4") && !strings.HasSuffix(name, "6") {
		name += map[bool]string{false: "4", true: "6"}[v6]
	}
	return func(fd int) error {
		c := &rawFD{network: n.String()}
		c.fd.Store(int64(fd))
		defer c.fd.Store(-1)
		if d.ControlContext == nil {
			return d.Control(name, address, c)
		}
		ctx := l.ctx
		if !l.until.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, l.until)
			defer cancel()
		}
		return d.ControlContext(ctx, name, address, c)
	}
}

// rawFD is the syscall.RawConn that a hook is given, for as long as the hook
// runs.
type rawFD struct {
	network string
	fd      atomic.Int64 // -1 after it
}

var errNoWait = errors.New("waiting for a socket that is not connected")

func (c *rawFD) Control(f func(fd uintptr)) error {
	return c.use("raw-control", func(fd uintptr) bool { f(fd); return true })
}

func (c *rawFD) Read(f func(fd uintptr) (done bool)) error  { return c.use("raw-read", f) }
func (c *rawFD) Write(f func(fd uintptr) (done bool)) error { return c.use("raw-write", f) }

// use calls f once: there is nothing yet that would be worth waiting for.
func (c *rawFD) use(op string, f func(fd uintptr) bool) error {
	fd, err := c.fd.Load(), net.ErrClosed
	if fd >= 0 {
		if f(uintptr(fd)) {
			return nil
		}
		err = errNoWait
	}
	return &net.OpError{Op: op, Net: c.network, Err: err}
}

var _ syscall.RawConn = (*rawFD)(nil)
