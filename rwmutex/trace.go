package rwmutex

import "github.com/netco-go/netco/coroutine"

// tracer stands between the slow paths and everything they share with others, so that a test can run several of
// them in every possible order. The fast paths need none: each is one atomic operation, after which a failure
// leads to a slow path.
type tracer interface {
	step(op op) // before each shared access
	acquire() *coroutine.Waiter
	release(*coroutine.Waiter)
	prepare(*coroutine.Waiter)
	park(*coroutine.Waiter) coroutine.Wake
	wake(*coroutine.Waiter)
	unwind()
}

// trace is nil but in tests, which set it while no lock is in use.
var trace tracer

// op is a kind of shared access.
type op string

const (
	opLoad      op = "load state"
	opSwap      op = "swap state"
	opAdd       op = "add to state"
	opGuard     op = "lock guard"
	opTag       op = "look whether granted"
	opLoose     op = "mark loose"
	opLooseLook op = "look whether loose"
)

func step(op op) {
	if trace != nil {
		trace.step(op)
	}
}

func (m *RWMutex) load() int64 {
	step(opLoad)
	return m.look()
}

func (m *RWMutex) swapSlow(old, next int64) bool {
	step(opSwap)
	return m.swap(old, next)
}

func (m *RWMutex) add(delta int64) int64 {
	step(opAdd)
	return m.change(delta)
}

func acquire() *coroutine.Waiter {
	if trace != nil {
		return trace.acquire()
	}
	return coroutine.AcquireWaiter()
}

func release(w *coroutine.Waiter) {
	if trace != nil {
		trace.release(w)
		return
	}
	w.Release()
}

func prepare(w *coroutine.Waiter) {
	if trace != nil {
		trace.prepare(w)
		return
	}
	w.Prepare()
}

func park(w *coroutine.Waiter) coroutine.Wake {
	if trace != nil {
		return trace.park(w)
	}
	return w.Park(coroutine.ReasonLock)
}

func wake(w *coroutine.Waiter) {
	if trace != nil {
		trace.wake(w)
		return
	}
	w.Wake()
}

func unwind() {
	if trace != nil {
		trace.unwind()
		return
	}
	coroutine.Unwind()
}
