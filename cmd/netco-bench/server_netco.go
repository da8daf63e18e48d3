package main

import (
	"fmt"
	"net"
	"os"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/socket"
)

// serveNetco is the echo server as one writes it with netco: a coroutine per
// connection, and a buffer only while there is something in it.
func serveNetco(cfg serveConfig) (child.Hello, error) {
	ln, err := listenNetco(cfg)
	if err != nil {
		return child.Hello{}, err
	}
	if _, err := netco.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, "accept:", err)
				os.Exit(exitFailed)
			}
			if _, err := netco.Go(func() { echoNetco(c.(*socket.TCPConn), cfg) }); err != nil {
				c.Close()
				fmt.Fprintln(os.Stderr, "go:", err)
			}
		}
	}); err != nil {
		return child.Hello{}, err
	}
	return child.Hello{Addr: ln.Addr().String(), Backend: context.Backend()}, nil
}

// serveNetcoBare is serveNetco without the watchdog.
func serveNetcoBare(cfg serveConfig) (child.Hello, error) {
	cfg.Unwatched = true
	return serveNetco(cfg)
}

// serveNetcoOne is serveNetco on one Processor.
func serveNetcoOne(cfg serveConfig) (child.Hello, error) {
	cfg.Processors = 1
	return serveNetco(cfg)
}

// serveNetcoIdle is the echo server with no coroutine for a connection that is
// idle.
func serveNetcoIdle(cfg serveConfig) (child.Hello, error) {
	ln, err := listenNetco(cfg)
	if err != nil {
		return child.Hello{}, err
	}
	s := &socket.Server{Handle: echoNetcoOnce}
	if _, err := netco.Go(func() {
		err := s.Serve(ln)
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(exitFailed)
	}); err != nil {
		return child.Hello{}, err
	}
	return child.Hello{Addr: ln.Addr().String(), Backend: context.Backend()}, nil
}

func echoNetcoOnce(c *socket.ServerConn) error {
	b := socket.AcquireBuffer()
	n, err := c.Read(b.Bytes())
	if err == nil {
		_, err = c.Write(b.Bytes()[:n])
	}
	b.Release()
	return err
}

func listenNetco(cfg serveConfig) (net.Listener, error) {
	o := netco.Options{Processors: cfg.Processors, MinActive: cfg.MinActive}
	if cfg.Unwatched {
		o.Watchdog = -1
	}
	o.NoSpin = cfg.Spin == "off"
	if err := netco.Start(o); err != nil {
		return nil, err
	}
	return netco.Listen("tcp", net.JoinHostPort(cfg.Host, "0"))
}

func echoNetco(c *socket.TCPConn, cfg serveConfig) {
	defer c.Close()
	h := cfg.handler()
	for {
		if c.WaitReadable() != nil {
			return
		}
		b := socket.AcquireBuffer()
		n, err := c.Read(b.Bytes())
		if err == nil {
			err = h.Answer(c, b.Bytes()[:n])
		}
		b.Release()
		if err != nil {
			return
		}
	}
}
