package asserts

import (
	"io"
	"net"

	"github.com/netco-go/netco"
)

func proxy() error { // want proxy:"waits"
	ln, err := netco.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		s, err := netco.Dial("tcp", "localhost:1")
		if err != nil {
			return err
		}
		if _, err := netco.Go(func() {
			relay(c.(*net.TCPConn), s.(*net.TCPConn)) // want `c is netco's, so the assertion of package net's \*net.TCPConn panics; change the import to netco/net` `s is netco's`
		}); err != nil {
			c.Close()
		}
	}
}

func relay(a, b *net.TCPConn) { io.Copy(a, b) }

func tuned(ln net.Listener) error { // want tuned:"waits"
	return netco.Serve(ln, func(c net.Conn) {
		if tc, ok := c.(*net.TCPConn); ok { // whose ln is is not known
			tc.SetNoDelay(true)
		}
	})
}

func served() error { // want served:"waits"
	ln, err := netco.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	return netco.Serve(ln, func(c net.Conn) {
		if tc, ok := c.(*net.TCPConn); ok { // want `\*net.TCPConn is never ok`
			tc.SetNoDelay(true)
		}
		switch c := c.(type) {
		case *net.TCPConn: // want `\*net.TCPConn never matches`
			c.SetNoDelay(true)
		}
	})
}
