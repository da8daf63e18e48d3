package socket

import (
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
)

// endpoints are a connection's addresses: as the kernel wrote them, which costs
// nothing, and as net's types from the first call that returns one.
type endpoints struct {
	network       network
	local, remote sysx.RawAddr // constant; not of a Unix socket
	// Set once: by the first call that asks for an address, or for a Unix
	// socket when it is made.
	known atomic.Pointer[addrs]
}

// addrs are a connection's addresses as net's types; nil for a missing address.
type addrs struct{ local, remote net.Addr }

// LocalAddr returns the local address: a *net.TCPAddr, *net.UDPAddr or
// *net.UnixAddr. Each call returns the same one; do not change it. The first
// call for either address allocates both; later ones allocate nothing.
func (e *endpoints) LocalAddr() net.Addr { return e.addrs().local }

// RemoteAddr returns the peer's address, as LocalAddr; nil if there is none.
func (e *endpoints) RemoteAddr() net.Addr { return e.addrs().remote }

func (e *endpoints) addrs() *addrs {
	if known := e.known.Load(); known != nil {
		return known
	}
	return e.makeAddrs()
}

// makeAddrs makes both addresses in one allocation. If several callers do so at
// the same time, the first one's addresses count.
func (e *endpoints) makeAddrs() *addrs {
	made := new(struct {
		addrs
		l, r inetAddr
	})
	made.local = made.l.set(e.network, &e.local)
	made.remote = made.r.set(e.network, &e.remote)
	e.known.CompareAndSwap(nil, &made.addrs)
	return e.known.Load()
}

// addrOf returns a as a net.Addr, which is nil if a is.
func addrOf[A interface {
	comparable
	net.Addr
}](a A) net.Addr {
	var none A
	if a == none {
		return nil
	}
	return a
}

// as returns v as an I, which is nil after an error.
func as[I, T any](v T, err error) (i I, _ error) {
	if err == nil {
		i = any(v).(I)
	}
	return i, err
}

// inetAddr is an address of package net together with the memory of its IP,
// which is a slice. A net.TCPAddr differs from a net.UDPAddr by name only.
type inetAddr struct {
	addr net.UDPAddr
	ip   [net.IPv6len]byte
}

// set stores an address in ia and returns ia, or nil if there is no address.
func (ia *inetAddr) set(n network, a *sysx.RawAddr) net.Addr {
	ap, zone := a.AddrPort()
	if !ap.IsValid() {
		return nil
	}
	ia.setAddrPort(ap, zone)
	if n.isUDP() {
		return &ia.addr
	}
	return (*net.TCPAddr)(&ia.addr)
}

// setAddrPort converts a valid address: four bytes on an IPv4 socket, sixteen
// on an IPv6 socket, also for an IPv4-mapped address, as net does.
func (ia *inetAddr) setAddrPort(ap netip.AddrPort, zone uint32) {
	ip := ap.Addr()
	if ip.Is4() {
		b := ip.As4()
		ia.addr.IP = append(ia.ip[:0:len(b)], b[:]...)
	} else {
		ia.ip = ip.As16()
		ia.addr.IP = ia.ip[:]
	}
	ia.addr.Port = int(ap.Port())
	if zone != 0 {
		ia.addr.Zone = zoneName(zone)
	}
}

// opError wraps err as net does. It is inlined, so a nil err is cheap.
func (e *endpoints) opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return e.peerError(op, err)
}

func (e *endpoints) peerError(op string, err error) error {
	return &net.OpError{Op: op, Net: e.network.String(), Source: e.LocalAddr(),
		Addr: e.RemoteAddr(), Err: err}
}

// sendError is opError for a packet to an address that the caller named.
func (e *endpoints) sendError(to net.Addr, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: "write", Net: e.network.String(), Source: e.LocalAddr(), Addr: to,
		Err: err}
}

// setError is opError for settings and for listeners: net names the local
// address only.
func (e *endpoints) setError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: e.network.String(), Addr: e.LocalAddr(), Err: err}
}

// zones caches the names of interfaces for a while: a look-up dumps the routing
// table.
var zones atomic.Pointer[zoneNames]

type zoneNames struct {
	names map[uint32]string
	until int64 // CLOCK_MONOTONIC ns
}

// zonesLast is how long the cache is valid, as in package net.
const zonesLast = 60 * time.Second

func zoneName(zone uint32) string {
	now := clock.Now()
	known := zones.Load()
	if known != nil && now < known.until {
		if name, ok := known.names[zone]; ok {
			return name
		}
	}
	name := strconv.Itoa(int(zone))
	if ifi, err := net.InterfaceByIndex(int(zone)); err == nil {
		name = ifi.Name
	}
	next := &zoneNames{map[uint32]string{zone: name}, now + int64(zonesLast)}
	if known != nil && now < known.until {
		next.until = known.until
		for z, n := range known.names {
			next.names[z] = n
		}
	}
	zones.Store(next)
	return name
}

// network is the name given when a connection or listener was made: net's
// errors repeat it.
type network uint8

const (
	noNetwork network = iota
	tcp
	tcp4
	tcp6
	udp
	udp4
	udp6
	unixNet
	unixgram
	unixpacket
)

var networkNames = [...]string{
	tcp: "tcp", tcp4: "tcp4", tcp6: "tcp6", udp: "udp", udp4: "udp4", udp6: "udp6",
	unixNet: "unix", unixgram: "unixgram", unixpacket: "unixpacket",
}

func (n network) String() string { return networkNames[n] }

func (n network) isTCP() bool  { return n >= tcp && n <= tcp6 }
func (n network) isUDP() bool  { return n >= udp && n <= udp6 }
func (n network) isUnix() bool { return n >= unixNet }

// like reports whether n and m are networks of one protocol: TCP, UDP or Unix.
func (n network) like(m network) bool { return n.isTCP() == m.isTCP() && n.isUDP() == m.isUDP() }

// kind returns the meaning of a read's result on the network's connections.
func (n network) kind() fd.Kind {
	switch {
	case n.isTCP():
		return fd.TCPStream
	case n == unixNet:
		return fd.UnixStream
	case n == unixpacket:
		return fd.SeqPackets
	}
	return fd.Packets
}

// parseNetwork finds a network by its name. Networks that only net has
// ("ip:icmp" and its like) are unknown.
func parseNetwork(name string) (network, error) {
	for i, s := range networkNames {
		if s == name && s != "" {
			return network(i), nil
		}
	}
	return noNetwork, net.UnknownNetworkError(name)
}
