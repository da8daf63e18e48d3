package socket

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Dial connects to an address, as net.Dial does and with its errors. The network is tcp, tcp4 or tcp6. A name is resolved and its
// addresses are tried one after the other. Parks.
func Dial(network, address string) (net.Conn, error) {
	return DialTimeout(network, address, 0)
}

// DialTimeout is Dial that gives up after a time, with an error whose Timeout method returns true; 0 is no limit of netco's own.
func DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	n, err := parseNetwork(network)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var until time.Time
	if timeout != 0 {
		until = time.Now().Add(timeout)
	}
	targets, err := resolve(network, address, until)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error
	for _, to := range targets {
		c, err := dial(n, to, until)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
		}
	}
	return nil, first
}

// dial connects to one address.
func dial(n network, to netip.AddrPort, until time.Time) (*TCPConn, error) {
	family, sa := sockaddr(to)
	fd, err := sysx.NewSocket(family, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	setDefaults(fd)
	c := new(TCPConn)
	c.init(fd, n)
	if err := c.connect(sa, until); err != nil {
		c.s.close()
		return nil, err
	}
	c.local.LocalAddr(fd)
	c.remote.RemoteAddr(fd)
	return c, nil
}

// connect connects the socket, which nobody else knows yet.
func (c *TCPConn) connect(to unix.Sockaddr, until time.Time) error {
	s := &c.s
	if !until.IsZero() {
		s.pd.SetDeadline(processor.Write, deadline(until))
	}
	err := sysx.StartConnect(s.fd, to)
	for err == unix.EINPROGRESS || err == unix.EALREADY || err == unix.EINTR {
		if v, werr := s.pd.Wait(s.fd, processor.Write, coroutine.ReasonConnect, 0); v != processor.Ready || werr != nil {
			return waitError(v, werr)
		}
		s.pd.Clear(processor.Write)
		errno, gerr := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if gerr != nil {
			return os.NewSyscallError("getsockopt", gerr)
		}
		if errno != 0 {
			return os.NewSyscallError("connect", unix.Errno(errno))
		}
		// No error and no peer: the wake was early.
		var peer sysx.RawAddr
		if peer.RemoteAddr(s.fd) == 0 {
			err = nil
		}
	}
	if err != nil {
		return os.NewSyscallError("connect", err)
	}
	s.pd.SetDeadline(processor.Write, 0)
	return nil
}

var errMissingAddress = errors.New("missing address") // net's own has no name

func sockaddr(a netip.AddrPort) (family int, sa unix.Sockaddr) {
	ip := a.Addr()
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}
	}
	sa6 := &unix.SockaddrInet6{Port: int(a.Port()), Addr: ip.As16()}
	if zone := ip.Zone(); zone != "" {
		if ifi, err := net.InterfaceByName(zone); err == nil {
			sa6.ZoneId = uint32(ifi.Index)
		} else if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			sa6.ZoneId = uint32(n)
		}
	}
	return unix.AF_INET6, sa6
}

// resolve turns an address into those to try, in order. An address is taken as it is; a name is looked up.
func resolve(network, address string, until time.Time) ([]netip.AddrPort, error) {
	if ap, err := netip.ParseAddrPort(address); err == nil && fits(network, ap.Addr()) {
		if ap.Addr().IsUnspecified() {
			ap = netip.AddrPortFrom(loopback(ap.Addr()), ap.Port()) // as net does
		}
		return []netip.AddrPort{netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())}, nil
	}
	if address == "" {
		return nil, errMissingAddress
	}
	return offload(address, func() ([]netip.AddrPort, error) { return lookup(network, address, until) })
}

func loopback(a netip.Addr) netip.Addr {
	if a.Unmap().Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

func fits(network string, a netip.Addr) bool {
	switch network {
	case "tcp4":
		return a.Unmap().Is4()
	case "tcp6":
		return !a.Unmap().Is4()
	}
	return true
}

// lookup resolves with Go's resolver. It blocks.
func lookup(network, address string, until time.Time) ([]netip.AddrPort, error) {
	ctx := context.Background()
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "localhost"
		if network != "tcp6" {
			host = "127.0.0.1"
		}
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip"+network[len("tcp"):], host)
	if err != nil {
		return nil, err
	}
	found := make([]netip.AddrPort, 0, len(ips))
	for _, ip := range ips {
		if fits(network, ip) {
			found = append(found, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
		}
	}
	if len(found) == 0 {
		return nil, &net.AddrError{Err: "no suitable address found", Addr: host}
	}
	return found, nil
}

// offloaded is what a call on an ordinary goroutine came to.
type offloaded[T any] struct {
	value  T
	err    error
	done   atomic.Bool                      // value and err are written
	waiter atomic.Pointer[coroutine.Waiter] // who waits for it; whoever takes it out wakes it
}

// offload runs fn, which may block for long unless address is literal: on a coroutine it runs on an ordinary goroutine while the
// coroutine is parked. When the scheduler ends by force it returns ErrShutdown and leaves fn to itself.
func offload[T any](address string, fn func() (T, error)) (T, error) {
	if _, err := netip.ParseAddrPort(address); err == nil || coroutine.Current() == nil {
		return fn()
	}
	o := new(offloaded[T])
	go func() {
		o.value, o.err = fn()
		o.done.Store(true)
		if w := o.waiter.Swap(nil); w != nil {
			w.Wake()
		}
	}()
	w := coroutine.AcquireWaiter()
	defer w.Release()
	for !o.done.Load() {
		w.Prepare()
		o.waiter.Store(w)
		if o.done.Load() && o.waiter.Swap(nil) != nil {
			break // the goroutine came before the waiter was there
		}
		if w.Park(coroutine.ReasonConnect) == coroutine.WakeShutdown {
			o.waiter.Swap(nil)
			var none T
			return none, coroutine.ErrShutdown
		}
	}
	return o.value, o.err
}

func sysError(call string, err error) error { return os.NewSyscallError(call, err) }
