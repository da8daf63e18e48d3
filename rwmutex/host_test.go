package rwmutex

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/mpsc"
)

// host drives an executor on a thread of its own: the least that a Processor
// is.
type host struct {
	ex    coroutine.Executor
	first []func() // coroutines to begin with
	inbox mpsc.Queue[coroutine.Coroutine]
	bell  chan struct{} // capacity 1: inbox or ending has changed
	end   atomic.Bool   // by force
}

type hosts []*host

func newHosts(n int) hosts {
	all := make(hosts, n)
	for i := range all {
		h := &host{bell: make(chan struct{}, 1)}
		h.ex.Init(coroutine.Config{Host: h, Idle: 64})
		all[i] = h
	}
	return all
}

// spawn adds a coroutine. To be called before run.
func (h *host) spawn(f func()) { h.first = append(h.first, f) }

// run runs all coroutines of all hosts to their ends.
func (all hosts) run() {
	var wg sync.WaitGroup
	for _, h := range all {
		wg.Go(h.loop)
	}
	wg.Wait()
}

func (h *host) loop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h.ex.Enter()
	defer h.ex.Leave()
	for _, f := range h.first {
		h.ex.Spawn(coroutine.Spawn{Fn: f})
	}
	for h.ex.Stats.Live.Own() > 0 {
		for n := h.inbox.Take(); n != nil; {
			co := n.Value
			n = n.Next()
			h.ex.Arrive(co)
		}
		if h.end.Load() && !h.ex.Stopping() {
			h.ex.Stop()
		}
		if h.ex.Run(256, math.MaxInt64) == 0 {
			<-h.bell
		}
	}
}

// stop ends the host's coroutines by force. Any thread.
func (h *host) stop() {
	h.end.Store(true)
	h.ring()
}

func (h *host) ring() {
	select {
	case h.bell <- struct{}{}:
	default:
	}
}

func (h *host) Post(co *coroutine.Coroutine) {
	h.inbox.Push(co.Node())
	h.ring()
}

func (h *host) ParkUntil(*coroutine.Coroutine, coroutine.Reason, int64) coroutine.Wake {
	panic("no timers here")
}

func (h *host) Panicked(*coroutine.Coroutine, any, []byte) bool { return false }
