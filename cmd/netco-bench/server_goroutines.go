package main

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
)

// readTimeout is the deadline that the servers below set before each read. It
// never passes.
const readTimeout = time.Minute

// serveGoroutines returns a server with a goroutine and a buffer per
// connection, on a listener of netco or of package net.
func serveGoroutines(listen func(serveConfig) (net.Listener, error),
	echo func(c net.Conn, cfg serveConfig)) echoServer {
	return func(cfg serveConfig) (child.Hello, error) {
		ln, err := listen(cfg)
		if err != nil {
			return child.Hello{}, err
		}
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					fmt.Fprintln(os.Stderr, "accept:", err)
					os.Exit(exitFailed)
				}
				go echo(c, cfg)
			}
		}()
		return child.Hello{Addr: ln.Addr().String()}, nil
	}
}

func listenNet(cfg serveConfig) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
}

// echoDeadlines is echoNet with a deadline for each read.
func echoDeadlines(c net.Conn, cfg serveConfig) {
	defer c.Close()
	buf := make([]byte, max(4096, cfg.Size))
	h := cfg.handler()
	for {
		if c.SetReadDeadline(time.Now().Add(readTimeout)) != nil {
			return
		}
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if h.Answer(c, buf[:n]) != nil {
			return
		}
	}
}
