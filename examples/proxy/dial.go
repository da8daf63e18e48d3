package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// lookAgain is how often a client is looked at while its target does not
// answer: most do before the first time.
const lookAgain = time.Second

var errLeft = errors.New("the client has left before the target has answered")

// dial connects to the target, for the dial's timeout at most, and no longer
// than the client stays.
func (p *proxy) dial(client *socket.TCPConn) (*socket.TCPConn, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var look *netco.Timer
	look = netco.AfterFunc(lookAgain, func() { // on this Processor
		switch {
		case ctx.Err() != nil:
		case left(client):
			cancel(errLeft)
		default:
			look.Reset(lookAgain)
		}
	})
	defer look.Stop()
	d := socket.Dialer{Timeout: p.dialTimeout}
	c, err := d.DialContext(ctx, "tcp", p.target)
	if err != nil {
		if context.Cause(ctx) == errLeft {
			err = errLeft
		}
		return nil, err
	}
	return c.(*socket.TCPConn), nil
}

// left reports whether a client has gone: whether it has reset its connection,
// or ended its stream before it has sent anything. One that has sent something
// may have ended its stream and wait for an answer; the proxy cannot know.
func left(client *socket.TCPConn) bool {
	raw, err := client.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	if err := raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil || info.State == tcpClose {
			gone = true
			return
		}
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = n == 0 && err == nil
	}); err != nil {
		return true
	}
	return gone
}

// tcpClose is the state of a connection that has been reset.
const tcpClose = 7
