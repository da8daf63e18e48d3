package main

import (
	"context"
	"net"

	"github.com/cloudwego/netpoll"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// bufferSize is of the servers that have a buffer for each connection.
const bufferSize = 4096

// accepting calls serve with each connection, by a starter such as a go
// statement.
func accepting(ln net.Listener, start func(serve func()) error, serve func(net.Conn)) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		if err := start(func() { serve(c) }); err != nil {
			c.Close()
		}
	}
}

func goroutine(f func()) error {
	go f()
	return nil
}

func coroutine(f func()) error {
	_, err := netco.Go(f)
	return err
}

// onNetco serves from a coroutine, each connection in one of its own.
func onNetco(address string, serve func(net.Conn)) error {
	ln, err := listenNetco(address)
	if err != nil {
		return err
	}
	return joined(func() error { return accepting(ln, coroutine, serve) })
}

// joined runs f in a coroutine and returns its error.
func joined(f func() error) error {
	failed := make(chan error, 1)
	co, err := netco.Go(func() { failed <- f() })
	if err != nil {
		return err
	}
	if err := co.Join(); err != nil {
		return err
	}
	return <-failed
}

func listenNetco(address string) (net.Listener, error) {
	if err := netco.Start(netco.Options{}); err != nil {
		return nil, err
	}
	return netco.Listen("tcp", address)
}

// onNet serves each connection in a goroutine of its own.
func onNet(address string, serve func(net.Conn)) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return accepting(ln, goroutine, serve)
}

func echoNet(address string) error { return onNet(address, echo) }

// echo keeps a buffer for the connection.
func echo(c net.Conn) {
	defer c.Close()
	b := make([]byte, bufferSize)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}

// echoNetco has a buffer only while there is something in it.
func echoNetco(address string) error {
	return onNetco(address, func(nc net.Conn) {
		c := nc.(*socket.TCPConn)
		defer c.Close()
		for c.WaitReadable() == nil {
			if echoOnce(c) != nil {
				return
			}
		}
	})
}

func echoOnce(c net.Conn) error {
	b := socket.AcquireBuffer()
	defer b.Release()
	n, err := c.Read(b.Bytes())
	if err == nil {
		_, err = c.Write(b.Bytes()[:n])
	}
	return err
}

// echoNetcoServer has no coroutine for a connection that is idle.
func echoNetcoServer(address string) error {
	ln, err := listenNetco(address)
	if err != nil {
		return err
	}
	s := &socket.Server{Handle: func(c *socket.ServerConn) error { return echoOnce(c) }}
	return joined(func() error { return s.Serve(ln) })
}

func echoNetpoll(address string) error {
	ln, err := netpoll.CreateListener("tcp", address)
	if err != nil {
		return err
	}
	loop, err := netpoll.NewEventLoop(func(_ context.Context, c netpoll.Connection) error {
		r, w := c.Reader(), c.Writer()
		b, err := r.Next(r.Len())
		if err != nil {
			return err
		}
		if _, err := w.WriteBinary(b); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return r.Release()
	})
	if err != nil {
		return err
	}
	return loop.Serve(ln)
}
