package socket

import (
	"io"
	"net"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// FD returns the fd, for tests that ask the kernel about it. Other than
// SyscallConn it does not count as sharing the fd.
func (c *conn) FD() int { return c.s.Sysfd() }

// FileName is what Inspect reports for a File in place of an address.
func FileName(name string) net.Addr { return fileName(name) }

// Holds reports which buffers b has. Precondition: b is not in use.
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

// Home returns the Processor that watches the connection's fd, or nil.
func (c *TCPConn) Home() *processor.Processor { return c.s.Home() }

// Lookups returns how many look-ups of coroutines are under way, those included
// that their askers have left.
func Lookups() int { return lookups.Stats().Running }

// Places returns how many places are taken under the first limit of l.
func Places(l net.Listener) (open int) {
	open, _ = underFirstLimit(l)
	return open
}

// WaitForRoom returns how many Accepts wait under the first limit of l.
func WaitForRoom(l net.Listener) (waiting int) {
	_, waiting = underFirstLimit(l)
	return waiting
}

// underFirstLimit counts nothing for a listener that has no limit yet: a
// Server's has one when Serve has begun.
func underFirstLimit(l net.Listener) (open, waiting int) {
	var r *fd.Room
	if own, ok := l.(limitable); ok {
		r = own.lis().Room()
	} else {
		r = l.(*limitedListener).gate.Room
	}
	if r == nil {
		return 0, 0
	}
	return r.Taken()
}

// MarkAcceptable does what an edge does: the Accept that waits tries again.
func MarkAcceptable(l net.Listener) { l.(limitable).lis().MarkReadable() }

// MarkReadable does what an edge does to a connection.
func MarkReadable(c *TCPConn) { c.s.MarkReadable() }

// IdleTimed reports whether IdleTimeout's deadline is set. For Handle.
func IdleTimed(c *ServerConn) bool { return c.timed }

// Limited reports whether l has a limit itself.
func Limited(l net.Listener) bool {
	if own, ok := l.(limitable); ok {
		return own.lis().Room() != nil
	}
	_, ok := l.(*limitedListener)
	return ok
}

// OpenPipes returns how many pipes exist for splicing.
func OpenPipes() int { return fd.OpenPipes() }

// MaxPipes is the most pipes that may exist.
const MaxPipes = fd.MaxPipes

// TakePipes takes so many pipes, as copies do, and returns a function that
// gives them back.
func TakePipes(n int) (giveBack func()) {
	var all []*fd.Pipe
	for range n {
		if p := fd.AcquirePipe(); p != nil {
			all = append(all, p)
		}
	}
	return func() {
		for _, p := range all {
			p.Release()
		}
	}
}

// ReadFromStream copies from r to a Unix stream, whose own ReadFrom is for
// packets.
func (c *UnixConn) ReadFromStream(r io.Reader) (int64, error) { return c.readFrom(r) }

// PutControl writes the header of a control message.
var PutControl = putControl

// WithoutGSO is as if the kernel had no UDP_SEGMENT, until restore.
func WithoutGSO() (restore func()) {
	known := gsoMissing
	gsoMissing = func() bool { return true }
	return func() { gsoMissing = known }
}
