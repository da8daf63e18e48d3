package socket

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Info is what [Inspect] tells of a socket.
type Info struct {
	FD      int
	Network string // as net's errors name it: "tcp", "unixgram" and so on; "socket" for a [Socket], "file" for a [File]

	// The addresses as the kernel has them; nil if there is none. Local is a [File]'s name.
	Local, Remote net.Addr

	Listener  bool
	Processor int // the index of the one it is registered with; -1 if only ordinary goroutines have waited for it

	// The ids of the coroutines that wait to read or accept, and to write or connect; 0 if there is none, or a goroutine.
	ReadWaiter, WriteWaiter uint64

	Idle bool // a [Server]'s connection that waits and holds no coroutine
}

// inspectTurn is how many sockets a coroutine looks at, at a microsecond each, before others get their turn.
const inspectTurn = 128

// Inspect calls f for every socket that is registered with p, in no order, until f returns false. What nobody has waited for yet is
// registered nowhere and is not told, nor is what comes or goes meanwhile, or not for sure. With the first Processor of a group
// come those that ordinary goroutines only have waited for.
//
// It may be called from any thread, and f may do anything. No lock is held: the
// fd is used for as long as it takes to ask the kernel for its two addresses,
// so a Close at that very moment leaves closing it to Inspect. A coroutine lets
// others run after every 128th socket, and stops when the scheduler ends by
// force. It allocates the addresses.
func Inspect(p *processor.Processor, f func(Info) bool) {
	v := inspection{f: f}
	p.PollDescs(v.look)
	if p.Index() == 0 && !v.over {
		p.Group().OutsidePollDescs(v.look)
	}
}

// inspection is one Inspect.
type inspection struct {
	f    func(Info) bool
	seen int
	over bool
}

// look tells of one fd, if it is a socket of this package, and reports whether to go on.
func (v *inspection) look(pd *processor.PollDesc) bool {
	if d := descriptorOf(pd); d != nil {
		if info, open := d.inspect(); open && !v.f(info) {
			v.over = true
		}
	}
	if v.seen++; v.seen%inspectTurn == 0 && coroutine.YieldTurn() {
		v.over = true
	}
	return !v.over
}

// inspect describes the fd; false means that it is closed.
//
// Only what is constant, atomic or the kernel's is looked at.
func (d *descriptor) inspect() (info Info, open bool) {
	if !d.inspectable() {
		return Info{}, false
	}
	defer d.uninspect()
	fd := int(d.fd)
	info = Info{
		FD:          fd,
		Processor:   -1,
		ReadWaiter:  d.pd.Waiter(processor.Read),
		WriteWaiter: d.pd.Waiter(processor.Write),
		Idle:        d.pd.Watched(),
	}
	if home := d.pd.Home(); home != nil {
		info.Processor = home.Index()
	}
	switch d.pd.Mark {
	case markConn:
		info.Network = d.network.String()
		info.Local, info.Remote = addrsOf(fd, d.network)
	case markListener:
		info.Network, info.Listener = d.network.String(), true
		info.Local, _ = addrsOf(fd, d.network)
	case markSocket:
		info.Network, info.Listener = "socket", listens(fd)
		info.Local, info.Remote = addrsOf(fd, kernelNetwork(fd))
	case markFile:
		info.Network, info.Local = "file", fileName(d.fileOf().name)
	}
	return info, true
}

// addrsOf asks the kernel for both ends of a socket.
func addrsOf(fd int, n network) (local, remote net.Addr) {
	switch {
	case n.isUnix():
		return unixAddr(localName(fd, n)), unixAddr(peerName(fd, n))
	case n == noNetwork:
		return nil, nil
	}
	var here, there sysx.RawAddr
	here.LocalAddr(fd)
	there.RemoteAddr(fd)
	return new(inetAddr).set(n, &here), new(inetAddr).set(n, &there)
}

// kernelNetwork is the network of a socket of whatever family, if it is one of net's.
func kernelNetwork(fd int) network {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return noNetwork
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return noNetwork
	}
	return networkOf(domain, kind)
}

// fileName is a File's name in place of an address.
type fileName string

func (fileName) Network() string  { return "file" }
func (n fileName) String() string { return string(n) }
