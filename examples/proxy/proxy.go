package main

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/examples/internal/reports"
	"github.com/netco-go/netco/socket"
)

// proxy forwards connections to a target.
type proxy struct {
	target      string
	idle        time.Duration // 0: for ever
	dialTimeout time.Duration
	said        reports.Reports
}

func (p *proxy) accept(ln *socket.TCPListener) {
	for {
		client, err := ln.AcceptTCP()
		if err != nil {
			return
		}
		if _, err := netco.Go(func() { p.serve(client) }); err != nil {
			p.refuse(client, err)
		}
	}
}

// refuse resets a connection that cannot be forwarded: the client is to see
// that this is no end of stream.
func (p *proxy) refuse(client *socket.TCPConn, err error) {
	p.said.Report(err)
	client.SetLinger(0)
	client.Close()
}

// serve forwards one connection.
func (p *proxy) serve(client *socket.TCPConn) {
	defer client.Close()
	server, err := p.dial(client)
	if err != nil {
		p.refuse(client, err)
		return
	}
	defer server.Close()
	l := &link{idle: p.idle}
	l.active.Store(time.Now().UnixNano())
	// On the same Processor, as the two have much to do with each other.
	answers, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() { l.forward(client, server) }})
	if err != nil {
		p.refuse(client, err)
		return
	}
	l.forward(server, client)
	answers.Join()
}

// link is two connections that belong together.
type link struct {
	idle   time.Duration
	active atomic.Int64 // when something is last known to have moved
}

// forward copies until src ends, and closes dst for writing. When copying
// fails, both connections are reset: each peer then sees what the other has
// seen. When they have been idle, they are just closed.
func (l *link) forward(dst, src *socket.TCPConn) {
	err := l.copy(dst, src)
	if err == nil && dst.CloseWrite() == nil {
		return
	}
	if errors.Is(err, net.ErrClosed) && !errors.Is(err, netco.ErrShutdown) {
		return // the other direction is closing both
	}
	for _, c := range []*socket.TCPConn{dst, src} {
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			c.SetLinger(0)
		}
		c.Close() // ends the other direction too
	}
}

// copy copies until src ends. With an idle time it looks, a few times in that
// time, whether anything has moved either way. A copy that was ended by its
// deadline has lost nothing, so the next one continues it.
func (l *link) copy(dst, src *socket.TCPConn) error {
	for {
		if l.idle > 0 {
			look := time.Now().Add(l.idle / 4)
			src.SetReadDeadline(look)
			dst.SetWriteDeadline(look)
		}
		n, err := io.Copy(dst, src)
		if n > 0 {
			l.active.Store(time.Now().UnixNano())
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) ||
			time.Since(time.Unix(0, l.active.Load())) >= l.idle {
			return err
		}
	}
}
