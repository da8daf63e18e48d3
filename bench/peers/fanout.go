package main

import (
	"net"
	"sync/atomic"

	"github.com/netco-go/netco/channel"
)

const (
	// subscribers is how many have each message.
	subscribers = 16
	// backlog is how many messages wait for a subscriber.
	backlog = 128
)

// A publication is a message on its way to all subscribers. The last one calls
// done.
type publication struct {
	left atomic.Int32
	done func()
}

func (p *publication) receive() {
	if p.left.Add(-1) == 0 {
		p.done()
	}
}

// relay sends each message back when publish has returned.
func relay(c net.Conn, p *publication, publish func(*publication)) {
	defer c.Close()
	b := make([]byte, bufferSize)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		p.left.Store(subscribers)
		publish(p)
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}

// fanoutNet is goroutines and Go's channels.
func fanoutNet(address string) error {
	var all [subscribers]chan *publication
	for i := range all {
		all[i] = make(chan *publication, backlog)
		go func() {
			for p := range all[i] {
				p.receive()
			}
		}()
	}
	return onNet(address, func(c net.Conn) {
		done := make(chan struct{}, 1)
		relay(c, &publication{done: func() { done <- struct{}{} }}, func(p *publication) {
			for _, s := range all {
				s <- p
			}
			<-done
		})
	})
}

// fanoutNetco is coroutines and netco's channels.
func fanoutNetco(address string) error {
	ln, err := listenNetco(address)
	if err != nil {
		return err
	}
	var all [subscribers]*channel.Chan[*publication]
	for i := range all {
		all[i] = channel.Make[*publication](backlog)
		if err := coroutine(func() {
			for p := range all[i].All() {
				p.receive()
			}
		}); err != nil {
			return err
		}
	}
	return joined(func() error {
		return accepting(ln, coroutine, func(c net.Conn) {
			done := channel.Make[struct{}](1)
			relay(c, &publication{done: func() { done.Send(struct{}{}) }}, func(p *publication) {
				for _, s := range all {
					s.Send(p)
				}
				done.Recv()
			})
		})
	})
}
