package main

import (
	"fmt"
	"net"
	"os"
)

// serveNet is the echo server as one writes it with the standard library: a
// goroutine and a buffer per connection.
func serveNet(cfg serveConfig) (addr, backend string, err error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
	if err != nil {
		return "", "", err
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
	return ln.Addr().String(), "", nil
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
