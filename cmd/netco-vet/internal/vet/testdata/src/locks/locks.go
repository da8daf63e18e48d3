package locks

import (
	"net"
	"sync"

	"github.com/netco-go/netco"
	netcosync "github.com/netco-go/netco/sync"
)

type room struct {
	mu    sync.Mutex
	rw    sync.RWMutex
	conns []net.Conn
}

func (r *room) broadcast(b []byte) { // want broadcast:"lock,waits"
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Write(b) // want `sync.Mutex r.mu held across Conn.Write in a coroutine: another coroutine that wants the lock blocks its Processor; import netco/sync`
	}
}

func (r *room) copied(b []byte) { // want copied:"waits"
	r.mu.Lock()
	conns := r.conns
	r.mu.Unlock()
	for _, c := range conns {
		c.Write(b)
	}
}

func (r *room) some(b []byte, yes bool) { // want some:"lock,waits"
	r.rw.RLock()
	if yes {
		r.rw.RUnlock()
		netco.Yield()
		return
	}
	r.send(b) // want `sync.RWMutex r.rw held across Conn.Write`
	r.rw.RUnlock()
	netco.Yield()
}

func (r *room) untilOne(b []byte) { // want untilOne:"waits"
	r.mu.Lock()
	for {
		if len(r.conns) > 0 {
			r.mu.Unlock()
			break
		}
		r.mu.Unlock()
		netco.Yield()
		r.mu.Lock()
	}
	r.send(b)
}

func (r *room) broken(b []byte, n int) { // want broken:"lock,waits"
	r.mu.Lock()
loop:
	for i := range n {
		switch i {
		case 1:
			r.mu.Unlock()
			break loop
		case 2:
			break
		}
	}
	r.send(b) // not held on all ways
	r.rw.Lock()
	for {
		if n++; n > 9 {
			break
		}
	}
	r.send(b) // want `sync.RWMutex r.rw held across Conn.Write`
}

func (r *room) skipped(b []byte) { // want skipped:"waits"
	r.mu.Lock()
	switch len(b) {
	case 0:
		r.mu.Unlock()
		break
	default:
		r.conns = nil
		r.mu.Unlock()
	}
	r.send(b)
}

func (r *room) unlock() { r.mu.Unlock() }

func (r *room) helped(b []byte) { // want helped:"waits"
	r.mu.Lock()
	r.unlock()
	r.send(b)
	r.rw.RLock()
	release := func() { r.rw.RUnlock() }
	release()
	r.send(b)
}

// resetAndUnlock unlocks for its caller, waits, and locks again.
func (r *room) resetAndUnlock() { // want resetAndUnlock:"waits"
	r.mu.Unlock()
	r.send(nil)
	r.mu.Lock()
	r.conns = nil
	r.mu.Unlock()
}

func (r *room) resets() { // want resets:"waits"
	r.mu.Lock()
	r.viaHelper()
	r.mu.Lock()
	unlock := r.mu.Unlock
	unlock()
	r.send(nil)
	r.mu.Lock()
	done := func() { r.mu.Unlock() }
	r.calls(done)
	r.send(nil)
}

func (r *room) viaHelper() { r.resetAndUnlock() } // want viaHelper:"waits"

func (r *room) calls(f func()) { f() } // want calls:"calls"

func (r *room) send(b []byte) { r.conns[0].Write(b) } // want send:"waits"

func (r *room) fine(mu *netcosync.Mutex) { // want fine:"waits"
	mu.Lock()
	netco.Yield()
	mu.Unlock()
}

func start(r *room, mu *netcosync.Mutex) error {
	_, err := netco.Go(func() {
		r.broadcast(nil)
		r.copied(nil)
		r.some(nil, true)
		r.fine(mu)
		r.untilOne(nil)
		r.broken(nil, 3)
		r.skipped(nil)
		r.helped(nil)
		r.resets()
	})
	return err
}
