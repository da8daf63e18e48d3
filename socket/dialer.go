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
// The caller itself dials an address of TCP, a net.Dialer everything else: UDP
// and Unix addresses in place, and for a coroutine a host to look up on an
// ordinary goroutine, where the hooks and Control are called as well.
type Dialer struct {
	// Timeout bounds how long a dial may take, look-up included, and Deadline
	// when it ends; the earliest of both and a context's deadline counts. Zero
	// is no limit of netco's own. Several addresses of one name share the time.
	Timeout  time.Duration
	Deadline time.Time

	// LocalAddr is the address to dial from, of the network's type; nil is any.
	LocalAddr net.Addr

	// DualStack has no effect.
	//
	// Deprecated: a negative FallbackDelay turns off the fallback that it
	// enabled.
	DualStack bool

	// FallbackDelay is how long a connection to the family of a name's first
	// address may take until the other family is tried too; the first
	// connection counts (RFC 6555). 0 is 300 ms; negative tries all addresses
	// one after the other. It is for network tcp only.
	FallbackDelay time.Duration

	// KeepAlive is the idle time before the first keep-alive probe of a TCP
	// connection: 0 is 15 s, negative is no probes. An enabled KeepAliveConfig
	// takes precedence.
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
	// ControlContext takes precedence if both are set.
	Control        func(network, address string, c syscall.RawConn) error
	ControlContext func(ctx context.Context, network, address string, c syscall.RawConn) error
}

// MultipathTCP reports whether Multipath TCP is used: false.
func (d *Dialer) MultipathTCP() bool { return false }

// SetMultipathTCP exists for code that sets it on a net.Dialer, and has no
// effect: connections are plain TCP, as with a net.Dialer when the host or the
// peer has no multipath.
func (d *Dialer) SetMultipathTCP(use bool) {}

// Dial connects to an address, as net.Dial does and with its errors. The
// network is tcp, tcp4, tcp6, udp, udp4, udp6, unix, unixgram or unixpacket;
// the result is a *TCPConn, *UDPConn or *UnixConn. Parks.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext is Dial that ends when ctx does, with net's error for that. A
// returned connection does not depend on ctx.
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

// borrow has package net dial: addresses that need a look-up or have an error,
// and networks where net need not wait for the peer.
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
		op.Err = errTimeout // net has two such errors; this is the context's
	case err == coroutine.ErrShutdown:
		err = &net.OpError{Op: "dial", Net: n.String(), Err: err}
	}
	return c, err
}

// nets returns a Dialer of package net with the same settings, except the
// Resolver.
func (d *Dialer) nets() *net.Dialer {
	return &net.Dialer{
		Timeout: d.Timeout, Deadline: d.Deadline, LocalAddr: d.LocalAddr,
		FallbackDelay: d.FallbackDelay, KeepAlive: d.KeepAlive, KeepAliveConfig: d.KeepAliveConfig,
		Cancel: d.Cancel, Control: d.Control, ControlContext: d.ControlContext,
	}
}

// DialTCP connects to one TCP address, from laddr if that is valid. An address
// without an IP means this host. Parks.
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
	unfit := err != nil || !n.isUDP() || !suit(n, from.IP, to.IP)
	if unfit || to.IP.Equal(net.IPv6unspecified) { // written, that is 0.0.0.0 too
		c, err := netDialUDP(network, from, to) // which has the error
		if unfit || err != nil {
			return c, err
		}
		c.Close()
	}
	return as[*UDPConn](d.borrow(ctx, n, from, to.String()))
}

// DialUnix connects to a Unix socket, from laddr if that is not nil. The
// network is unix, unixgram or unixpacket. A name that begins with @ is an
// abstract one, which is no file. A unixgram socket with a laddr needs no
// raddr.
//
// The kernel connects at once or not at all, so this does not park; as with
// net, a listener of streams or packets that does not accept and whose queue is
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

// limits returns what ends a dial early. Call stop when the dial is over.
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
	select {
	case <-d.Cancel: // before a peer that is near could answer
		cancel()
	default:
		go func(done <-chan struct{}) {
			select {
			case <-d.Cancel:
				cancel()
			case <-done:
			}
		}(l.ctx.Done())
	}
	return l, cancel
}
