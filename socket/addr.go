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
// nothing, and as net's types from the first time that they are asked for.
type endpoints struct {
	network       network
	local, remote sysx.RawAddr // constant; not of a Unix socket
	// Set once: by the first to ask, and for a Unix socket when it is made.
	known atomic.Pointer[addrs]
}

// addrs are a connection's addresses as net's types; nil where there is none.
type addrs struct{ local, remote net.Addr }

// LocalAddr returns the local address: a *net.TCPAddr, *net.UDPAddr or
// *net.UnixAddr, the same one each time, which is not to be changed. The first
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

// makeAddrs makes both addresses in one allocation. Of several that do so at
// the same time, the first one's count.
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

// inetAddr is an address of package net, whose IP is a slice, with the memory
// that the slice is of. A net.TCPAddr differs from a net.UDPAddr by name only.
type inetAddr struct {
	addr net.UDPAddr
	ip   [net.IPv6len]byte
}

// set converts an address; the result is nil if there is none. It is x.
func (x *inetAddr) set(n network, a *sysx.RawAddr) net.Addr {
	ap, zone := a.AddrPort()
	if !ap.IsValid() {
		return nil
	}
	x.setAddrPort(ap, zone)
	if n.isUDP() {
		return &x.addr
	}
	return (*net.TCPAddr)(&x.addr)
}

// setAddrPort converts a valid address: four bytes of a socket of IPv4, sixteen
// of one of IPv6, also if they are IPv4's mapped into it, as net leaves it.
func (x *inetAddr) setAddrPort(ap netip.AddrPort, zone uint32) {
	ip := ap.Addr()
	if ip.Is4() {
		b := ip.As4()
		x.addr.IP = append(x.ip[:0:len(b)], b[:]...)
	} else {
		x.ip = ip.As16()
		x.addr.IP = x.ip[:]
	}
	x.addr.Port = int(ap.Port())
	if zone != 0 {
		x.addr.Zone = zoneName(zone)
	}
}

// opError wraps err as net does. It is inlined, for nil.
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

// zones remembers the names of interfaces for a while: asking for one costs a
// dump of the routing table.
var zones atomic.Pointer[zoneNames]

type zoneNames struct {
	names map[uint32]string
	until int64 // CLOCK_MONOTONIC ns
}

// zonesLast is how long names are believed, as long as package net does.
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

// network is the name a connection or listener was made under: net's errors
// repeat it.
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

// like reports whether n is of the same protocol as m: TCP, UDP or Unix.
func (n network) like(m network) bool { return n.isTCP() == m.isTCP() && n.isUDP() == m.isUDP() }

// kind is what reads mean on its connections.
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

// parseNetwork finds a network by its name. Those of net's that are not here
// ("ip:icmp" and its like) are unknown.
func parseNetwork(name string) (network, error) {
	for i, s := range networkNames {
		if s == name && s != "" {
			return network(i), nil
		}
	}
	return noNetwork, net.UnknownNetworkError(name)
}
