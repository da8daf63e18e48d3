package socket

import (
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
)

// ends are a connection's addresses: as the kernel wrote them, which costs nothing until somebody asks.
type ends struct {
	network       network
	local, remote sysx.RawAddr
	unix          *unixEnds // of a Unix socket, in place of local and remote
}

// unixEnds are the addresses of a Unix socket.
type unixEnds struct{ local, remote *net.UnixAddr }

// LocalAddr returns the local address: a *net.TCPAddr, *net.UDPAddr or *net.UnixAddr.
func (e *ends) LocalAddr() net.Addr {
	if e.unix != nil {
		return unixAddr(e.unix.local)
	}
	return inetAddr(e.network, &e.local)
}

// RemoteAddr returns the peer's address, of the same type as LocalAddr; nil if there is none.
func (e *ends) RemoteAddr() net.Addr {
	if e.unix != nil {
		return unixAddr(e.unix.remote)
	}
	return inetAddr(e.network, &e.remote)
}

// unixAddr avoids a net.Addr that is not nil and holds nil.
func unixAddr(a *net.UnixAddr) net.Addr {
	if a == nil {
		return nil
	}
	return a
}

// inetAddr converts an address; nil if there is none.
func inetAddr(n network, a *sysx.RawAddr) net.Addr {
	ap, zone := a.AddrPort()
	if !ap.IsValid() {
		return nil
	}
	ip := ap.Addr() // 4-in-6 of a dual-stack socket stays so, as net leaves it
	name := ""
	if zone != 0 {
		name = zoneName(zone)
	}
	if n.isUDP() {
		return &net.UDPAddr{IP: ip.AsSlice(), Port: int(ap.Port()), Zone: name}
	}
	return &net.TCPAddr{IP: ip.AsSlice(), Port: int(ap.Port()), Zone: name}
}

// opError wraps err as net does.
func (e *ends) opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: e.network.String(), Source: e.LocalAddr(), Addr: e.RemoteAddr(), Err: err}
}

// setError is opError for settings and for listeners: net names the local address only.
func (e *ends) setError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: e.network.String(), Addr: e.LocalAddr(), Err: err}
}

// zones remembers the names of interfaces for a while: asking for one costs a dump of the routing table.
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
