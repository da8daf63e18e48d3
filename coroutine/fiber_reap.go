package coroutine

import "github.com/netco-go/netco/asm"

// Reaping ends fibers that nothing can resume any more. The garbage collector
// does not: a goroutine that is parked in a coro stays for ever. Only code at
// the fiber's home may switch to it:
//
//	home                                  ended by
//	a Processor                           a coroutine there, see Host.Reap; at
//	                                      the Processor's end by ReapAll
//	a goroutine                           another goroutine, which becomes its
//	                                      home
//	a goroutine locked to its thread, or  nothing: its fibers are to be
//	a coroutine while it was              cancelled
//	a goroutine in a bubble               nothing: the bubble reports it

// abandoned is the cleanup of t's handle. It runs on a goroutine of the Go
// runtime, which must not be blocked. If nothing of the fiber is left to end,
// abandoned starts no coroutine: that might exceed Options.MaxCoroutines.
func abandoned(t *fiber) {
	t.raceAcquire()
	switch ex := t.w.ex; {
	case t.w.gone || !t.started && !t.locals.any():
	case ex != nil:
		ex.host.Reap(t.reap) // a coroutine for each: its deferred calls may park, or panic
	case !t.bubble && t.made == 0:
		go t.reap()
	}
}

// ReapAll cancels all coroutines driven by hand that are suspended here, or
// have a goroutine and were never resumed: the thread is about to end. To be
// run as a coroutine of the executor, after Stop.
func (ex *Executor) ReapAll() {
	for ex.Suspended() {
		for w := range workers {
			if w.fiber.toReap(ex) {
				w.fiber.reap()
			}
		}
	}
}

// Suspended reports whether ReapAll has something to do. Owner only. It takes
// as long as a Range.
func (ex *Executor) Suspended() bool {
	for w := range workers {
		if w.fiber.toReap(ex) {
			return true
		}
	}
	return false
}

// toReap reports whether f, which may be nil, is suspended at ex and may be
// resumed there. Owner of ex only.
//
//go:norace
func (f *fiber) toReap(ex *Executor) bool {
	return f != nil && f.w.ex == ex && f.core != nil && f.core.locks == ex.locks && !f.running
}

// reap ends f, which nothing can resume: its incarnation, if it has one, or its
// idle goroutine.
func (f *fiber) reap() {
	f.raceAcquire()
	switch c := f.core; {
	case c != nil:
		if f.w.ex == nil {
			c.root.Set(rootOf(CurrentWorker(), asm.Getg()))
		}
		c.cancel(nil)
	case f.w.ex == nil:
		f.endIdle(nil)
	}
}

// trimFibers ends the idle fibers. Owner only, on the loop.
func (ex *Executor) trimFibers() {
	for len(ex.idleFibers) > 0 {
		t := ex.idleFibers[0].t
		t.raceAcquire()
		ex.idleFibers[0] = nil
		ex.idleFibers = ex.idleFibers[1:]
		if t.started {
			t.endIdle(nil)
		}
	}
}
