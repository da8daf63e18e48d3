// Package behind has waits behind interfaces and fields.
package behind

import (
	"net"
	"time"

	"dep"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

type worker interface{ work() }

type sleeper struct{}

func (sleeper) work() { time.Sleep(1) } // want `time.Sleep in a coroutine: .* \(coroutine started at behind.go:\d+ → sleeper.work\)` work:"time"

type other struct{}

func (other) work() {}

func one() error {
	var w worker = sleeper{}
	_, err := netco.Go(func() { w.work() })
	return err
}

type holder struct {
	w     worker
	of    worker // two kinds: not followed
	hook  func()
	hook2 func()
}

type late struct{}

func (*late) work() { time.Sleep(2) } // want `time.Sleep in a coroutine: .* \(coroutine started at behind.go:\d+ → holder.run → late.work\)` work:"time"

func newHolder(yes bool) *holder {
	h := &holder{w: &late{}, of: sleeper{}, hook: func() {
		time.Sleep(3) // want `time.Sleep in a coroutine`
	}, hook2: func() { time.Sleep(4) }}
	if yes {
		h.of, h.hook2 = other{}, func() {}
	}
	return h
}

func (h *holder) run() { // want run:"time"
	h.w.work()
	h.of.work()
	h.hook()
	h.hook2()
}

func holds(yes bool) error {
	_, err := netco.Go(newHolder(yes).run)
	return err
}

// handed is a value whose method a function calls.
type handed struct{}

func (handed) work() { time.Sleep(5) } // want `time.Sleep in a coroutine: .* handed.work\)` work:"time"

func hand() error {
	_, err := netco.Go(func() { runs(handed{}) })
	return err
}

func runs(w worker) { w.work() } // want runs:"time"

func Runs(w worker) { w.work() } // want Runs:"calls"

// Adapter is what other packages call by their own interfaces and fields.
type adapter struct{}

func (adapter) Handle() { time.Sleep(6) } // want `time.Sleep in a coroutine: .*adapter.Handle\)` Handle:"time"

func adapts(c net.Conn) error {
	s := &dep.Server{Handler: dep.NewHandler(), Other: adapter{}}
	_, err := netco.Go(func() { s.ServeConn() }) // want `receive from a Go channel in a coroutine: .* → what dep.NewHandler returns → dep.go:\d+`
	if err != nil {
		return err
	}
	_, err = netco.Go(func() {
		dep.Serve(func() { time.Sleep(7) }) // want `time.Sleep in a coroutine`
	})
	return err
}

// both handles the types of both packages.
func both() { // want both:"waits"
	if c, err := netco.Dial("tcp", "localhost:1"); err == nil {
		switch c := c.(type) {
		case *socket.TCPConn:
			c.CloseWrite()
		case *net.TCPConn:
			c.CloseWrite()
		}
	}
}
