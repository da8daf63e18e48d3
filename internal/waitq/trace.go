package waitq

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// Tracer stands between the slow paths and everything they share with others, so that a test can run several of them in every
// possible order. Fast paths need none: each is one atomic operation, after which a failure leads to a slow path.
type Tracer interface {
	Step(op Op)     // before each shared access
	Guard(g *Guard) // before each attempt to take g, in place of Step(OpGuard)
	Acquire() *coroutine.Waiter
	Release(*coroutine.Waiter)
	Prepare(*coroutine.Waiter)
	Park(*coroutine.Waiter, coroutine.Bound) coroutine.Wake
	Drain(*coroutine.Waiter)
	Wake(*coroutine.Waiter)
	Unwind()
}

// trace is nil but in tests.
var trace Tracer

// SetTracer installs t, or with nil none. For tests, while no primitive is in use.
func SetTracer(t Tracer) { trace = t }

// Op is a kind of shared access.
type Op string

// The accesses of this package; primitives have their own besides.
const (
	OpGuard     Op = "lock guard"
	OpTag       Op = "look whether granted"
	OpLoose     Op = "mark loose"
	OpLooseLook Op = "look whether loose"
)

// Step tells a test that the caller is about to touch what others touch.
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

// What a Tracer may ask.

// Held reports whether somebody has g.
func (g *Guard) Held() bool { return g.held.Load() != 0 }

// Granted reports whether w has been taken out and its waker has not done with it.
func Granted(w *coroutine.Waiter) bool { return atomic.LoadUintptr(&w.Tag) == granted }

// Loose reports whether w has been taken out and its waker has done with it.
func Loose(w *coroutine.Waiter) bool { return atomic.LoadUintptr(&w.Tag) == loose }

func prepare(w *coroutine.Waiter) {
	if trace != nil {
		trace.Prepare(w)
		return
	}
	w.Prepare()
}

func park(w *coroutine.Waiter, reason coroutine.Reason, b coroutine.Bound) coroutine.Wake {
	if trace != nil {
		return trace.Park(w, b)
	}
	return w.ParkBound(reason, b)
}

// drain takes back the wake of a park that ended otherwise.
func drain(w *coroutine.Waiter) {
	if trace != nil {
		trace.Drain(w)
		return
	}
	w.Drain()
}

func wake(w *coroutine.Waiter) {
	if trace != nil {
		trace.Wake(w)
		return
	}
	w.Wake()
}

// Unwind ends the calling coroutine, for waits that have no error to return.
func Unwind() {
	if trace != nil {
		trace.Unwind()
		return
	}
	coroutine.Unwind()
}
