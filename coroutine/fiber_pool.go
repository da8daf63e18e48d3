package coroutine

import (
	"runtime"
	"sync"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
)

// fiberHandle is the pointer to a fiber that Fiber values share. The garbage
// collector never frees the stack of a suspended goroutine, but frees the
// handle, whose cleanup ends the goroutine. So nothing on that stack may refer
// to the handle; while the fiber runs, its resumer's Resume does.
type fiberHandle struct{ t *fiber }

//go:norace
func newFiberHandle(t *fiber) *fiberHandle {
	s := &fiberHandle{t}
	runtime.AddCleanup(s, abandoned, t)
	return s
}

// idleFibers has the idle fibers of ordinary goroutines that are not locked to
// a thread. A handle that the sync.Pool drops is collected, which ends the
// goroutine.
var idleFibers sync.Pool

// creator is the goroutine that makes a Fiber.
type creator struct {
	w        *worker // nil for an ordinary goroutine
	g, locks uintptr
}

// acquireFiber returns an idle fiber for a new incarnation, or a new one.
func acquireFiber() (*fiberHandle, creator) {
	by := creator{w: CurrentWorker()}
	by.g, by.locks = asm.Where()
	var ex *Executor
	var s *fiberHandle
	bubble := false
	if by.w != nil && by.w.ex != nil {
		ex = by.w.ex
		if co := by.w.co.Own(); co != nil {
			co.Pin() // the fiber belongs to its executor
		}
		s = ex.idleFiber(by.locks)
	} else if bubble = clock.InBubble(); bubble {
		// A goroutine made in the bubble belongs to it: it has the bubble's
		// clock, and the bubble ends when it has ended.
	} else if by.locks == 0 {
		s, _ = idleFibers.Get().(*fiberHandle)
	}
	if s != nil {
		s.t.raceAcquire()
	} else {
		s = newFiberHandle(newFiber(ex, bubble))
	}
	return s, by
}

// newFiber makes a fiber that has no goroutine yet.
//
//go:norace
func newFiber(ex *Executor, bubble bool) *fiber {
	t := new(fiber)
	t.w.ex, t.w.fiber = ex, t
	t.w.away.Store(nested)
	t.bubble = bubble
	return t
}

// renew begins an incarnation, and returns its id.
func (c *core) renew(by creator) uint64 {
	t := c.t
	c.locks, c.begun = by.locks, false
	t.core = c
	t.tags = goruntime.Labels()
	t.by, t.byG = by.w, by.g
	if inheriting.Load() != 0 {
		inheritLocals(&t.locals)
		Rejoin()
	}
	if ex := t.w.ex; ex != nil {
		if goruntime.RaceEnabled {
			t.raceRelease()
			defer Own()()
		}
		c.id.Set(ex.ids.take())
		return c.id.Own()
	}
	c.root.Set(rootOf(by.w, by.g))
	c.id.Set(t.ids.take())
	return c.id.Own()
}

// rootOf returns g if it is an ordinary goroutine, else the ordinary goroutine
// that drives g's fiber.
func rootOf(w *worker, g uintptr) uint64 {
	if w != nil && w.fiber != nil && w.fiber.core != nil {
		return w.fiber.core.root.Own()
	}
	return uint64(g)
}

// idleFiber returns the idle fiber used last, or nil.
func (ex *Executor) idleFiber(locks uintptr) *fiberHandle {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	n := len(ex.idleFibers) - 1
	if n < 0 || locks != ex.locks {
		return nil
	}
	s := ex.idleFibers[n]
	ex.idleFibers[n] = nil
	ex.idleFibers = ex.idleFibers[:n]
	return s
}

// poolable reports whether t, once idle, would be kept.
//
//go:norace
func poolable(t *fiber) bool { return t.w.ex == nil || len(t.w.ex.idleFibers) < t.w.ex.keep }

// conclude is the resumer's part of an incarnation's end: it gives the fiber
// back, and returns the incarnation's error or raises its panic. s is nil if
// the fiber was abandoned.
func (f *fiber) conclude(s *fiberHandle) error {
	failure, why := f.failure, f.event
	f.failure, f.event = nil, eventYield
	f.recycle(s)
	if failure != nil {
		panic(failure)
	}
	if why == eventGoexit {
		return ErrGoexit
	}
	return nil
}

// recycle puts an idle fiber where acquireFiber finds it.
func (f *fiber) recycle(s *fiberHandle) {
	switch ex := f.w.ex; {
	case f.w.gone:
	case !f.reusable() || !poolable(f):
		if f.started { // it was reused, and cancelled before its first Resume
			f.endIdle(f.by)
		}
	case s == nil:
		f.recycle(newFiberHandle(f))
	case ex != nil:
		f.raceRelease()
		ex.keepFiber(s)
	case f.started:
		f.raceRelease()
		idleFibers.Put(s)
	}
}

// keepFiber adds an idle fiber to those of the executor. Owner only.
func (ex *Executor) keepFiber(s *fiberHandle) {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	ex.idleFibers = append(ex.idleFibers, s)
}

// endIdle ends the goroutine of an idle fiber. by is the caller, nil for an
// ordinary goroutine or a loop.
func (f *fiber) endIdle(by *worker) {
	f.by = by
	if by != nil {
		by.inner.Set(f)
	}
	f.resume() // the fiber finds no incarnation, and ends
}

// cancel is Fiber.Cancel; the handle is nil once no Fiber value is left.
func (c *core) cancel(s *fiberHandle) error {
	err := c.check()
	t := c.t
	if err == nil && !c.begun && !t.locals.any() {
		t.core = nil
		c.id.Set(0)
		t.last.clear()
		t.recycle(s)
		return nil
	}
	if err == nil {
		err = c.enter()
	}
	if err != nil {
		return err
	}
	t.cancelled = true
	t.resume()
	t.last.clear()
	if err := t.conclude(s); err != ErrGoexit {
		return err
	}
	return nil
}
