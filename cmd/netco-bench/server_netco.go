package main

import (
	"fmt"
	"net"
	"os"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/socket"
)

// serveNetco is the echo server as one writes it with netco: a coroutine per
// connection, and a buffer only while there is something in it.
func serveNetco(cfg serveConfig) (addr, backend string, err error) {
	o := netco.Options{Processors: cfg.Processors}
	if cfg.Spin == "off" {
		o.Spin = netco.SpinOff
	}
	if err := netco.Start(o); err != nil {
		return "", "", err
	}
	ln, err := netco.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
	if err != nil {
		return "", "", err
	}
	netco.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, "accept:", err)
				os.Exit(exitFailed)
			}
			netco.Go(func() { echoNetco(c.(*socket.TCPConn)) })
		}
	})
	return ln.Addr().String(), context.Backend(), nil
}

func echoNetco(c *socket.TCPConn) {
	defer c.Close()
	for {
		if c.WaitReadable() != nil {
			return
		}
		b := socket.AcquireBuffer()
		n, err := c.Read(b.Bytes())
		if err == nil {
			_, err = c.Write(b.Bytes()[:n])
		}
		b.Release()
		if err != nil {
			return
		}
	}
}
