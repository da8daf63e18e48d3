package socket

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/processor"
)

// FD returns the fd, for tests that ask the kernel about it.
func (c *TCPConn) FD() int { return c.s.fd }

// FDMutex is an fdMutex whose methods tests may call. The first one opens it.
type FDMutex struct {
	m    fdMutex
	once sync.Once
}

func (x *FDMutex) opened() *fdMutex {
	x.once.Do(x.m.open)
	return &x.m
}

// The directions.
const (
	Reading = reading
	Writing = writing
)

func (x *FDMutex) Lock(s side) bool          { return x.opened().lock(s) }
func (x *FDMutex) Unlock(s side) (last bool) { return x.opened().unlock(s) }
func (x *FDMutex) Use() bool                 { return x.opened().use() }
func (x *FDMutex) Unuse() (last bool)        { return x.opened().unuse() }
func (x *FDMutex) UnlockIfOpen(s side) bool  { return x.opened().unlockIfOpen(s) }

// Close reports whether it was open, and whether the write lock was held.
func (x *FDMutex) Close() (open, written bool) {
	users, written := x.opened().close()
	return users > 0, written
}

// Idle reports whether nothing holds, uses or waits for it.
func (x *FDMutex) Idle() bool {
	queues := x.m.queues.Load()
	return x.m.state.Load()&^mutexOpen == 0 && (queues == nil || *queues == [2]waitq.Queue{})
}

// FileName is what Inspect reports for a File in place of an address.
func FileName(name string) net.Addr { return fileName(name) }

// Holds reports which buffers b has. For a b that is not in use.
func (b *Buffered) Holds() (reading, writing bool) { return b.in != nil, b.out != nil }

// WriteAround is Write that calls f before it releases the write lock.
func (b *Buffered) WriteAround(p []byte, f func()) (int, error) {
	if err := b.lock(); err != nil {
		return 0, err
	}
	n, err := b.writeLocked(p)
	f()
	return n, b.unlock(err)
}

// FDOf returns the fd of a stream, for tests that ask the kernel about it. It
// stays shared with nothing, as SyscallConn would have it.
func FDOf(c Stream) int { return c.base().s.fd }

// Home returns the Processor that watches the connection's fd, or nil.
func (c *TCPConn) Home() *processor.Processor { return c.s.pd.Home() }

// Lookups returns how many look-ups of coroutines are under way, those included
// that their askers have left.
func Lookups() int { return lookups.Stats().Running }

// ForAddress is how long the next of so many addresses is given when so much is
// left for all.
func ForAddress(left time.Duration, addresses int) (time.Duration, error) {
	l, err := limits{context.Background(), time.Now().Add(left)}.forAddress(addresses)
	return time.Until(l.until), err
}

// Bell is a bell whose methods tests may call.
type Bell struct{ b bell }

func (x *Bell) Ring() { x.b.ring() }
func (x *Bell) Wait(until int64, ready func() bool) error {
	return x.b.wait(coroutine.ReasonUser, until, ready)
}

// Places returns how many places are taken under the first limit of l.
func Places(l net.Listener) (open int) {
	open, _ = underFirstLimit(l)
	return open
}

// WaitForRoom returns how many wait under the first limit of l.
func WaitForRoom(l net.Listener) (waiting int) {
	_, waiting = underFirstLimit(l)
	return waiting
}

// underFirstLimit counts nothing for a listener that has no limit yet: a
// Server's has one when Serve has begun.
func underFirstLimit(l net.Listener) (open, waiting int) {
	var r *room
	if own, ok := l.(limitable); ok {
		r = own.lis().room.Load()
	} else {
		r = l.(*limitedListener).room
	}
	if r == nil {
		return 0, 0
	}
	limit := r.limits[0]
	limit.mu.Lock()
	defer limit.mu.Unlock()
	return limit.open, len(limit.waiting)
}

// MarkAcceptable does what an edge does: the Accept that waits tries again.
func MarkAcceptable(l net.Listener) { l.(limitable).lis().onPermit() }

// MarkReadable does what an edge does to a connection.
func MarkReadable(c *TCPConn) { c.s.pd.MarkReady(processor.Read) }

// IdleTimed reports whether IdleTimeout's deadline is set. For Handle.
func IdleTimed(c *ServerConn) bool { return c.timed }

// Limited reports whether l has a limit itself.
func Limited(l net.Listener) bool {
	if own, ok := l.(limitable); ok {
		return own.lis().room.Load() != nil
	}
	_, ok := l.(*limitedListener)
	return ok
}

// OpenPipes returns how many pipes exist for splicing.
func OpenPipes() int { return int(openPipes.Load()) }

// MaxPipes is the most that may.
const MaxPipes = maxPipes

// TakePipes takes so many pipes, as transfers do, and returns a function that
// gives them back.
func TakePipes(n int) (giveBack func()) {
	var all []*pipe
	for range n {
		if p := acquirePipe(); p != nil {
			all = append(all, p)
		}
	}
	return func() {
		for _, p := range all {
			p.release()
		}
	}
}

// ReadFromStream copies from r to a Unix stream, whose own ReadFrom is for
// packets.
func (c *UnixConn) ReadFromStream(r io.Reader) (int64, error) { return c.readFrom(r) }

// FD returns the fd, for tests that ask the kernel about it.
func (c *UDPConn) FD() int { return c.s.fd }

// PutControl writes the header of a control message.
var PutControl = putControl

// ForgetGSO sets what is known of the kernel's UDP_SEGMENT: nothing, or that it
// is missing. It returns what was known.
func ForgetGSO(missing bool) (restore func()) {
	known := gso.Load()
	gso.Store(gsoUnknown)
	if missing {
		gso.Store(gsoMissing)
	}
	return func() { gso.Store(known) }
}

// ConnectUDP is connectUDP.
var ConnectUDP = connectUDP

// The networks of UDP.
const (
	UDP  = udp
	UDP4 = udp4
)

// CloseIdleWorkers ends goroutines of pools that are idle, which would end by
// themselves some seconds later: a run of tests waits for that.
func CloseIdleWorkers() {
	files.CloseIdle()
	lookups.CloseIdle()
	blocking.Default().CloseIdle()
}

// OpenedBy returns how many more sockets the Processor of that index has opened
// than closed; of those that share its line of openSockets, all.
func OpenedBy(processor int) int64 { return openSockets[processor].n.Load() }

// OpenedOutside is OpenedBy for ordinary goroutines.
func OpenedOutside() int64 { return openSockets[len(openSockets)-1].n.Load() }

// CloseIdle ends the idle goroutines of look-ups, files and package blocking.
func CloseIdle() {
	lookups.CloseIdle()
	files.CloseIdle()
	blocking.Default().CloseIdle()
}

// Functions of package net, which package netco/net has.
var (
	DialTCP            = netDialTCP
	DialUDP            = netDialUDP
	DialUnix           = netDialUnix
	ListenTCP          = netListenTCP
	ListenUDP          = netListenUDP
	ListenUnix         = netListenUnix
	ListenUnixgram     = netListenUnixgram
	ListenMulticastUDP = netListenMulticastUDP
	FileConn           = netFileConn
	FileListener       = netFileListener
	FilePacketConn     = netFilePacketConn
	ResolveIPAddr      = netResolveIPAddr
	ResolveTCPAddr     = netResolveTCPAddr
	ResolveUDPAddr     = netResolveUDPAddr
)

func Dial(network, address string) (net.Conn, error) { return new(Dialer).Dial(network, address) }

func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return new(Dialer).DialContext(ctx, network, address)
}

func DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	d := Dialer{Timeout: timeout}
	return d.Dial(network, address)
}

func Listen(network, address string) (net.Listener, error) {
	return new(ListenConfig).Listen(context.Background(), network, address)
}

func ListenPacket(network, address string) (net.PacketConn, error) {
	return new(ListenConfig).ListenPacket(context.Background(), network, address)
}

// OpenCount and AcceptPauses are figures for package metrics.
func OpenCount() int       { return openCount() }
func AcceptPauses() uint64 { return acceptPauses() }
