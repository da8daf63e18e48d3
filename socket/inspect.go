package socket

import (
	"net"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

func init() { sockinfo.Register(inspect, fd.OpenCount, fd.AcceptPauses) }

// inspectTurn is how many sockets a coroutine lists, at a microsecond each,
// before it yields.
const inspectTurn = 128

// inspect is sockinfo.Each.
func inspect(p *processor.Processor, f func(sockinfo.Info) bool) {
	v := inspection{f: f}
	p.PollDescs(v.visit)
	if p.Index() == 0 && !v.over {
		p.Group().GoroutinePollDescs(v.visit)
	}
}

// inspection is one call of inspect.
type inspection struct {
	f    func(sockinfo.Info) bool
	seen int
	over bool
}

// visit describes one fd if it belongs to this package, and reports whether to
// go on.
func (i *inspection) visit(pd *processor.PollDesc) bool {
	if info, open := describe(pd); open && !i.f(info) {
		i.over = true
	}
	if i.seen++; i.seen%inspectTurn == 0 && coroutine.YieldTurn() {
		i.over = true
	}
	return !i.over
}

// describe describes the fd of pd; false means that the fd is closed, or
// belongs to a Poll.
func describe(pd *processor.PollDesc) (info sockinfo.Info, open bool) {
	switch owner := pd.Owner.(type) {
	case *fd.Descriptor:
		return inspected(owner, "")
	case *fileDescriptor:
		return inspected(&owner.Descriptor, owner.name)
	}
	return sockinfo.Info{}, false
}

// inspected is describe of a descriptor, with a File's name. It asks the kernel
// for the addresses.
func inspected(d *fd.Descriptor, file string) (info sockinfo.Info, open bool) {
	n := network(d.Label.Network)
	open = d.Inspect(func(s fd.State) {
		info = sockinfo.Info{
			FD:          s.FD,
			Processor:   -1,
			ReadWaiter:  s.ReadWaiter,
			WriteWaiter: s.WriteWaiter,
			Idle:        s.Idle,
		}
		if s.Home != nil {
			info.Processor = s.Home.Index()
		}
		switch role(d.Label.Role) {
		case roleConn:
			info.Network = n.String()
			info.Local, info.Remote = addrsOf(s.FD, n)
		case roleListener:
			info.Network, info.Listener = n.String(), true
			info.Local, _ = addrsOf(s.FD, n)
		case roleSocket:
			info.Network, info.Listener = "socket", listens(s.FD)
			of, _ := kernelNetwork(s.FD)
			info.Local, info.Remote = addrsOf(s.FD, of)
		case roleFile:
			info.Network, info.Local = "file", fileName(file)
		}
	})
	return info, open
}

// addrsOf asks the kernel for both addresses of a socket.
func addrsOf(fd int, n network) (local, remote net.Addr) {
	switch {
	case n.isUnix():
		return addrOf(localName(fd, n)), addrOf(peerName(fd, n))
	case n == noNetwork:
		return nil, nil
	}
	var here, there sysx.RawAddr
	here.LocalAddr(fd)
	there.RemoteAddr(fd)
	return new(inetAddr).set(n, &here), new(inetAddr).set(n, &there)
}

// fileName is a File's name in place of an address.
type fileName string

func (fileName) Network() string  { return "file" }
func (n fileName) String() string { return string(n) }
