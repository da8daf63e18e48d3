package socket

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
)

// hook returns what calls Control or ControlContext for a new fd, or nil if
// there is neither. v6 says which family the socket is of.
func (d *Dialer) hook(l limits, n network, address string, v6 bool) func(fd int) error {
	if d.Control == nil && d.ControlContext == nil {
		return nil
	}
	name := n.String()
	if !n.isUnix() && !strings.HasSuffix(name, "4") && !strings.HasSuffix(name, "6") {
		name += map[bool]string{false: "4", true: "6"}[v6]
	}
	return func(fd int) error {
		c := &rawFD{network: n.String()}
		c.fd.Store(int64(fd))
		defer c.fd.Store(-1)
		if d.ControlContext == nil {
			return d.Control(name, address, c)
		}
		ctx := l.ctx
		if !l.until.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, l.until)
			defer cancel()
		}
		return d.ControlContext(ctx, name, address, c)
	}
}

// rawFD is the syscall.RawConn that a hook is given, for as long as the hook
// runs.
type rawFD struct {
	network string
	fd      atomic.Int64 // -1 after it
}

var errNoWait = errors.New("waiting for a socket that is not connected")

func (c *rawFD) Control(f func(fd uintptr)) error {
	return c.use("raw-control", func(fd uintptr) bool { f(fd); return true })
}

func (c *rawFD) Read(f func(fd uintptr) (done bool)) error  { return c.use("raw-read", f) }
func (c *rawFD) Write(f func(fd uintptr) (done bool)) error { return c.use("raw-write", f) }

// use calls f once: there is nothing yet that would be worth waiting for.
func (c *rawFD) use(op string, f func(fd uintptr) bool) error {
	fd, err := c.fd.Load(), net.ErrClosed
	if fd >= 0 {
		if f(uintptr(fd)) {
			return nil
		}
		err = errNoWait
	}
	return &net.OpError{Op: op, Net: c.network, Err: err}
}

var _ syscall.RawConn = (*rawFD)(nil)
