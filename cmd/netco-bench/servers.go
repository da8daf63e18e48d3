package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// readTimeout is the deadline that some servers set before each read. It never
// passes.
const readTimeout = time.Minute

// netcoOn returns a netco server: the scheduler is started, with change made
// to the configuration, and serve is called for each connection.
func netcoOn(change func(*serveConfig), serve func(*socket.TCPConn, serveConfig)) server {
	return func(cfg serveConfig) (address string, err error) {
		change(&cfg)
		ln, err := listenNetco(cfg)
		if err != nil {
			return "", err
		}
		if _, err := netco.Go(func() {
			for {
				c, err := ln.Accept()
				fatal("accept", err)
				if _, err := netco.Go(func() { serve(c.(*socket.TCPConn), cfg) }); err != nil {
					c.Close()
					fmt.Fprintln(os.Stderr, "go:", err)
				}
			}
		}); err != nil {
			return "", err
		}
		return ln.Addr().String(), nil
	}
}

// goroutines returns a server with a goroutine for each connection, on a
// listener of netco or of package net.
func goroutines(listen func(serveConfig) (net.Listener, error),
	serve func(net.Conn, serveConfig)) server {
	return func(cfg serveConfig) (address string, err error) {
		ln, err := listen(cfg)
		if err != nil {
			return "", err
		}
		go func() {
			for {
				c, err := ln.Accept()
				fatal("accept", err)
				go serve(c, cfg)
			}
		}()
		return ln.Addr().String(), nil
	}
}

// fatal ends the process if err is not nil: the parent shows what it said.
func fatal(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(exitFailed)
	}
}

func listenNet(cfg serveConfig) (net.Listener, error) { return net.Listen("tcp", cfg.Addr) }

func listenNetco(cfg serveConfig) (net.Listener, error) {
	o := netco.Options{Processors: cfg.Processors}
	if cfg.Unwatched {
		o.Watchdog = -1
	}
	o.NoSpin = cfg.Spin == "off"
	if err := netco.Start(o); err != nil {
		return nil, err
	}
	return netco.Listen("tcp", cfg.Addr)
}

func unchanged(*serveConfig)     {}
func unwatched(cfg *serveConfig) { cfg.Unwatched = true }
func oneOnly(cfg *serveConfig)   { cfg.Processors = 1 }

// echoNet echoes as one writes it with the standard library: a buffer per
// connection.
func echoNet(c net.Conn, cfg serveConfig) { echoReads(c, cfg, false) }

// echoDeadlines is echoNet with a deadline for each read.
func echoDeadlines(c net.Conn, cfg serveConfig) { echoReads(c, cfg, true) }

func echoReads(c net.Conn, cfg serveConfig, deadlines bool) {
	defer c.Close()
	buf := make([]byte, max(4096, cfg.Size))
	h := cfg.handler()
	for {
		if deadlines && c.SetReadDeadline(time.Now().Add(readTimeout)) != nil {
			return
		}
		n, err := c.Read(buf)
		if err != nil || h.Answer(c, buf[:n]) != nil {
			return
		}
	}
}

// echoNetco echoes as one writes it with netco: a buffer only while there is
// something in it.
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

// serveNetcoIdle is the echo server with no coroutine for a connection that is
// idle.
func serveNetcoIdle(cfg serveConfig) (address string, err error) {
	ln, err := listenNetco(cfg)
	if err != nil {
		return "", err
	}
	s := &socket.Server{Handle: echoNetcoOnce}
	if _, err := netco.Go(func() { fatal("serve", s.Serve(ln)) }); err != nil {
		return "", err
	}
	return ln.Addr().String(), nil
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

// duplex is a connection of package net or of netco.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// proxyNetco is the proxy as examples/proxy has it: two coroutines on one
// Processor for each connection.
func proxyNetco(client *socket.TCPConn, cfg serveConfig) {
	forward(client, cfg.Target, netco.Dial, io.Copy, func(f func()) (func(), error) {
		co, err := netco.GoWith(netco.Spawn{Local: true, Fn: f})
		return func() { co.Join() }, err
	})
}

// proxyNet is the same with goroutines and the standard library, and copy to
// do the work.
func proxyNet(copy func(io.Writer, io.Reader) (int64, error)) func(net.Conn, serveConfig) {
	return func(client net.Conn, cfg serveConfig) {
		forward(client.(duplex), cfg.Target, net.Dial, copy, func(f func()) (func(), error) {
			over := make(chan struct{})
			go func() {
				defer close(over)
				f()
			}()
			return func() { <-over }, nil
		})
	}
}

// forward copies both ways, until both ends have closed. start runs a function
// beside it.
func forward(client duplex, target string, dial func(network, address string) (net.Conn, error),
	copy func(io.Writer, io.Reader) (int64, error), start func(func()) (join func(), err error)) {
	defer client.Close()
	c, err := dial("tcp", target)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dial:", err)
		return
	}
	defer c.Close()
	server := c.(duplex)
	join, err := start(func() {
		copy(client, server)
		client.CloseWrite()
	})
	if err != nil {
		return
	}
	copy(server, client)
	server.CloseWrite()
	join()
}

// copyPlain is io.Copy without the way around it: 32 KiB at a time, read and
// written.
func copyPlain(dst io.Writer, src io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, make([]byte, 32<<10))
}
