package main

import (
	"fmt"
	"net"
	"os"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
)

// serveNet is the echo server as one writes it with the standard library: a
// goroutine and a buffer per connection.
func serveNet(cfg serveConfig) (child.Hello, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
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
			go echoNet(c, cfg)
		}
	}()
	return child.Hello{Addr: ln.Addr().String()}, nil
}

func echoNet(c net.Conn, cfg serveConfig) {
	defer c.Close()
	buf := make([]byte, max(4096, cfg.Size))
	h := cfg.handler()
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if h.Answer(c, buf[:n]) != nil {
			return
		}
	}
}
