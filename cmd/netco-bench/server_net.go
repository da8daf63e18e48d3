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
			go echoNet(c, max(4096, cfg.Size))
		}
	}()
	return child.Hello{Addr: ln.Addr().String()}, nil
}

func echoNet(c net.Conn, size int) {
	defer c.Close()
	buf := make([]byte, size)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}
