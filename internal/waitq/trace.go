package waitq

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// Tracer intercepts the shared accesses of slow paths, so that a test can run
// several threads with their accesses in every order. Fast paths need no steps:
// each is one atomic operation, and a failed one leads to a slow path.
type Tracer interface {
	Step(op Op)     // before each shared access
	Guard(g *Guard) // before each attempt to lock g, in place of Step(OpGuard)
	Acquire() *coroutine.Waiter
	Release(*coroutine.Waiter)
	Move() // may follow Release
	Prepare(*coroutine.Waiter)
	Park(*coroutine.Waiter, coroutine.Limit) coroutine.Wake
	Drain(*coroutine.Waiter)
	Waking(*coroutine.Waiter) // precedes Wake, which wakes that waiter
	Wake()
	Unwind()
	Shield(on bool)
}

// trace is nil except in tests.
var trace Tracer

// SetTracer installs t; nil removes it. For tests, while no primitive is in
// use.
func SetTracer(t Tracer) { trace = t }

// Op names a kind of shared access.
type Op string

// The accesses of this package. Primitives define their own.
const (
	OpGuard    Op = "lock guard"
	OpTag      Op = "load tag"
	OpSettle   Op = "settle" // of a wait, with the guard held
	OpClaim    Op = "claim waiter"
	OpRelease  Op = "release waiter"
	OpReleased Op = "load tag until released"
)

// Step is called before each access to shared memory.
func Step(op Op) {
	if trace != nil {
		trace.Step(op)
	}
}

func atGuard(g *Guard) {
	if trace != nil {
		trace.Guard(g)
	}
}

// Held reports whether g is locked. For a Tracer, as are the next two.
func (g *Guard) Held() bool { return g.held.Load() != 0 }

// IsClaimed reports whether w is claimed and its waker may still access it.
func IsClaimed(w *coroutine.Waiter) bool { return atomic.LoadUintptr(&w.Tag) == Claimed }

// IsReleased reports whether w is claimed and its waker accesses it no more.
func IsReleased(w *coroutine.Waiter) bool { return atomic.LoadUintptr(&w.Tag) == Released }

func prepare(w *coroutine.Waiter) {
	if trace != nil {
		trace.Prepare(w)
		return
	}
	w.Prepare()
}

func park(w *coroutine.Waiter, reason coroutine.Reason, limit coroutine.Limit) coroutine.Wake {
	if trace != nil {
		return trace.Park(w, limit)
	}
	return w.ParkLimit(reason, limit)
}

// drain consumes the wake of a claimed waiter whose park ended otherwise.
func drain(w *coroutine.Waiter) {
	if trace != nil {
		trace.Drain(w)
		return
	}
	w.Drain()
}

// wakeTraced is wake for a Tracer.
func wakeTraced(w *coroutine.Waiter) {
	trace.Waking(w)
	Step(OpRelease)
	atomic.StoreUintptr(&w.Tag, Released)
	trace.Wake()
}

// Unwind ends the calling coroutine, in waits that have no error to return.
func Unwind() {
	if trace != nil {
		trace.Unwind()
		return
	}
	coroutine.Unwind()
}

// Shield calls f, in which no wait is ended by force.
func Shield(f func()) {
	if trace != nil {
		trace.Shield(true)
		f()
		trace.Shield(false)
		return
	}
	coroutine.Shield(f)
}
