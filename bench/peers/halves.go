package main

import (
	"crypto/tls"
	"net"

	"github.com/netco-go/netco/channel"
	netcotls "github.com/netco-go/netco/tls"
)

func halvesNet(address string) error {
	config, err := newConfig()
	if err != nil {
		return err
	}
	return onNet(address, func(c net.Conn) {
		bound(c)
		halves(tls.Server(c, config), goroutine, make(goChannel, queued))
	})
}

func halvesNetco(address string) error {
	return halvesOnNetco(address, func(c net.Conn, config *tls.Config) net.Conn {
		return netcotls.Server(c, config)
	})
}

// halvesNetcoCrypto has crypto/tls on coroutines, which is what netco/tls is
// there to avoid.
func halvesNetcoCrypto(address string) error {
	return halvesOnNetco(address, func(c net.Conn, config *tls.Config) net.Conn {
		return tls.Server(c, config)
	})
}

func halvesOnNetco(address string, server func(net.Conn, *tls.Config) net.Conn) error {
	config, err := newConfig()
	if err != nil {
		return err
	}
	return onNetco(address, func(c net.Conn) {
		bound(c)
		halves(server(c, config), coroutine, channel.Make[[]byte](queued))
	})
}

// queued is how many messages wait to be written.
const queued = 256

// bound keeps the kernel from taking more than a little that the peer does not
// read.
func bound(c net.Conn) {
	c.(interface{ SetWriteBuffer(bytes int) error }).SetWriteBuffer(32 << 10)
}

// A queue is between the two halves of a connection.
type queue interface {
	Send([]byte)
	Recv() ([]byte, bool)
	Close()
}

type goChannel chan []byte

func (c goChannel) Send(b []byte)        { c <- b }
func (c goChannel) Recv() ([]byte, bool) { b, ok := <-c; return b, ok }
func (c goChannel) Close()               { close(c) }

// halves echoes: what is read here is written by another.
func halves(c net.Conn, start func(func()) error, q queue) {
	defer q.Close()
	defer c.Close()
	if err := start(func() {
		for b, ok := q.Recv(); ok; b, ok = q.Recv() {
			c.Write(b) // after an error Reads fail, too
		}
	}); err != nil {
		return
	}
	b := make([]byte, bufferSize)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		q.Send(append([]byte(nil), b[:n]...))
	}
}
