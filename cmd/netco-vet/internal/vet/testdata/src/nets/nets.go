package nets

import (
	"crypto/tls"
	"io"
	"net"

	"github.com/netco-go/netco"
)

func serve() error {
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	return netco.Run(func() {
		for {
			c, err := ln.Accept() // want `Listener.Accept of what net.Listen at nets.go:12 returned in a coroutine: .*; use netco.Listen and netco.Dial, or change the import to netco/net`
			if err != nil {
				return
			}
			if _, err := netco.Go(func() { echo(c) }); err != nil {
				c.Close()
			}
		}
	})
}

func echo(c net.Conn) { // want echo:"net,waits"
	defer c.Close()
	b := make([]byte, 100)
	c.Read(b) // want `Conn.Read of what net.Listen at nets.go:12 returned in a coroutine`
	io.Copy(c, c)
}

func dials() error {
	_, err := netco.Go(func() {
		net.Dial("tcp", "localhost:1") // want `net.Dial in a coroutine`
		net.LookupHost("localhost")    // want `net.LookupHost in a coroutine`
	})
	return err
}

// unknown has a connection that may be anyone's.
func Unknown(c net.Conn) error {
	_, err := netco.Go(func() { c.Read(nil) })
	return err
}

func secure() error {
	ln, err := tls.Listen("tcp", "localhost:0", nil)
	if err != nil {
		return err
	}
	_, err = netco.Go(func() {
		ln.Accept()                         // want `Listener.Accept of what crypto/tls.Listen at nets.go:\d+ returned in a coroutine: .*; import netco/tls`
		tls.Dial("tcp", "localhost:1", nil) // want `crypto/tls.Dial in a coroutine`
	})
	return err
}

// asserted may be anything but a connection of package net.
func asserted(r io.Reader) {
	if c, ok := r.(*net.TCPConn); ok {
		c.Read(nil)
	}
	switch c := r.(type) {
	case *net.UnixConn:
		c.Read(nil)
	}
}

func startAsserted(r io.Reader) error {
	_, err := netco.Go(func() { asserted(r) })
	return err
}

// holder has a listener of package net, or another one.
type holder struct{ ln net.Listener }

func Elided(other net.Listener) []*holder { return []*holder{{ln: other}} }

func direct() (*holder, error) {
	ln, err := net.Listen("tcp", "localhost:0")
	return &holder{ln: ln}, err
}

func startHolder(h *holder) error {
	_, err := netco.Go(func() { h.ln.Accept() })
	return err
}

// written are buffers for whatever takes them.
func written(b net.Buffers, c net.Conn) error { // want written:"net"
	tc, err := net.Dial("tcp", "localhost:1")
	if err != nil {
		return err
	}
	_, err = netco.Go(func() {
		b.WriteTo(io.Discard)
		b.WriteTo(c)
		b.WriteTo(tc) // want `net.Buffers.WriteTo in a coroutine`
	})
	return err
}
