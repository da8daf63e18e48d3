package socket

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/netco-go/netco/coroutine"
)

// Dialer has the settings of Dial. The zero value is what Dial uses. Its fields
// are those of net.Dialer and mean the same. Its methods may be called
// concurrently. Hooks of net/http/httptrace in a context are called as package
// net calls them. Errors are *net.OpError with net's contents.
//
// An address of TCP is dialled by the caller, all else by a net.Dialer. That
// runs in place for addresses of UDP and Unix, and for a host that has to be
// looked up by a coroutine on an ordinary goroutine: there the hooks are called
// as well, and Control.
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
	// Unix. It may set options; it must not keep c, and must not wait.
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
	to := d.target(n, address)
	if to == nil {
		return d.borrow(ctx, n, d.LocalAddr, address)
	}
	l, stop := d.limits(ctx)
	defer stop()
	if err := l.err(); err != nil {
		return nil, d.opError(n, to, err)
	}
	return as[net.Conn](d.single(l, n, to))
}

// borrow has package net dial: what takes a look-up, or has an error, and the
// networks on which it need not wait for the peer.
func (d *Dialer) borrow(ctx context.Context, n network, from net.Addr,
	address string) (c net.Conn, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also where the caller is ended by force
	theirs := d.nets()
	theirs.LocalAddr, theirs.Resolver = from, d.Resolver.asked()
	dial := func() (net.Conn, error) {
		c, err := theirs.DialContext(ctx, n.String(), address)
		if err != nil {
			return nil, err
		}
		return takeConn("dial", n, true, c)
	}
	if _, named := netip.ParseAddrPort(address); n.isUnix() || n.isUDP() && named == nil {
		c, err = dial()
	} else {
		c, err = openElsewhere(lookups, dial)
	}
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
	return d.dialAddr(ctx, network, net.TCPAddrFromAddrPort(laddr), net.TCPAddrFromAddrPort(raddr))
}

// dialAddr dials an address of TCP, which may be nil.
func (d *Dialer) dialAddr(ctx context.Context, name string, from,
	to *net.TCPAddr) (c *TCPConn, err error) {
	n, err := parseNetwork(name)
	switch {
	case err != nil || !n.isTCP():
		err = net.UnknownNetworkError(name)
	case to == nil:
		err = errMissingAddress
	default:
		l, stop := d.limits(ctx)
		defer stop()
		c, err = d.dialTCP(l, n, from, to)
	}
	if err != nil {
		err = &net.OpError{Op: "dial", Net: name, Source: addrOf(from), Addr: addrOf(to), Err: err}
	}
	return c, err
}

// DialUDP is DialTCP for the networks of UDP. It does not park.
func (d *Dialer) DialUDP(ctx context.Context, network string, laddr,
	raddr netip.AddrPort) (*UDPConn, error) {
	from, to := net.UDPAddrFromAddrPort(laddr), net.UDPAddrFromAddrPort(raddr)
	n, err := parseNetwork(network)
	if err != nil || !n.isUDP() || !suit(n, from.IP, to.IP) {
		return netDialUDP(network, from, to) // which has the error
	}
	return as[*UDPConn](d.borrow(ctx, n, from, to.String()))
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
	n, err := parseNetwork(network)
	if err != nil || !n.isUnix() || raddr == nil || raddr.Name == "" {
		return netDialUnix(network, laddr, raddr) // unixgram without a peer, or the error
	}
	return as[*UnixConn](d.borrow(ctx, n, addrOf(laddr), raddr.Name))
}

// The functions of package net that dial one address, which may be nil.

func netDialTCP(network string, laddr, raddr *net.TCPAddr) (*TCPConn, error) {
	return new(Dialer).dialAddr(context.Background(), network, laddr, raddr)
}

func netDialUDP(network string, laddr, raddr *net.UDPAddr) (*UDPConn, error) {
	theirs, err := net.DialUDP(network, laddr, raddr)
	return taken[*UDPConn]("dial", network, true, theirs, err)
}

func netDialUnix(network string, laddr, raddr *net.UnixAddr) (*UnixConn, error) {
	theirs, err := net.DialUnix(network, laddr, raddr)
	return taken[*UnixConn]("dial", network, true, theirs, err)
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
