package coroutine

import (
	"runtime"
	"sync"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
)

// shell is what Fiber values hold of a fiber. A suspended goroutine's stack is never collected; the shell is, and then its cleanup
// ends the goroutine. So nothing on that side may hold the shell; while the fiber runs,
// its resumer's Resume does.
type shell struct{ t *fiber }

func newShell(t *fiber) *shell {
	s := &shell{t}
	runtime.AddCleanup(s, abandoned, t)
	return s
}

// idleFibers are the idle ones of ordinary goroutines that are not locked to a thread. What a sync.Pool drops is collected, which
// ends the goroutine.
var idleFibers sync.Pool

// maker is who makes a coroutine.
type maker struct {
	w        *worker // nil for an ordinary goroutine
	g, locks uintptr
}

// conceive finds a fiber for a new life, or makes one.
func conceive() (*shell, maker) {
	m := maker{w: CurrentWorker()}
	m.g, m.locks = asm.Where()
	var ex *Executor
	var s *shell
	bubble := false
	if m.w != nil && m.w.ex != nil {
		ex = m.w.ex
		if co := m.w.co.Own(); co != nil {
			co.pinned = true // what it makes belongs to its executor
		}
		s = ex.idleFiber(m.locks)
	} else if bubble = clock.InBubble(); bubble {
		// A goroutine of its own, which is the bubble's too: it has the
		// bubble's clock, and the bubble ends when it has.
	} else if m.locks == 0 {
		s, _ = idleFibers.Get().(*shell)
	} else {
		endRetired(m.locks)
	}
	if s == nil {
		t := new(fiber)
		t.w.ex, t.w.fiber = ex, t
		t.w.away.Store(nested)
		t.bubble = bubble
		s = newShell(t)
	}
	return s, m
}

// born begins a life, and returns its id.
func (h *hand) born(m maker) uint64 {
	context.Recorded()
	t := h.t
	h.locks, h.begun = m.locks, false
	t.of = h
	t.tags = goruntime.Labels()
	t.by, t.byG = m.w, m.g
	if inheriting.Load() != 0 {
		inheritLocals(&t.locals)
		Rejoin()
	}
	if ex := t.w.ex; ex != nil {
		h.id.Set(ex.newID())
		return h.id.Own()
	}
	h.root.Set(rootOf(m.w, m.g))
	if t.ids.next == t.ids.end {
		t.ids.end = lastID.Add(idBlock) + 1
		t.ids.next = t.ids.end - idBlock
	}
	t.ids.next++
	h.id.Set(t.ids.next - 1)
	return h.id.Own()
}

// rootOf returns the ordinary goroutine that g is, or that drives the fiber that g runs.
func rootOf(w *worker, g uintptr) uint64 {
	if w != nil && w.fiber != nil && w.fiber.of != nil {
		return w.fiber.of.root.Own()
	}
	return uint64(g)
}

// newID takes a number from the executor's block. Owner only.
func (ex *Executor) newID() uint64 {
	if ex.ids.next == ex.ids.end {
		ex.ids.end = lastID.Add(idBlock) + 1
		ex.ids.next = ex.ids.end - idBlock
	}
	ex.ids.next++
	return ex.ids.next - 1
}

// idleFiber takes the one used last, or nil.
func (ex *Executor) idleFiber(locks uintptr) *shell {
	n := len(ex.hands) - 1
	if n < 0 || locks != ex.locks {
		return nil
	}
	s := ex.hands[n]
	ex.hands[n] = nil
	ex.hands = ex.hands[:n]
	return s
}

// poolable reports whether an idle t would be kept.
func poolable(t *fiber) bool { return t.w.ex == nil || len(t.w.ex.hands) < t.w.ex.keep }

// settle is the resumer's part of a life's end: it gives the fiber back and passes on how the life ended. s is nil for one that was
// abandoned.
func (t *fiber) settle(s *shell) error {
	failure, why := t.failure, t.event
	t.failure, t.event = nil, eventYield
	t.recycle(s)
	if failure != nil {
		panic(failure)
	}
	if why == eventGoexit {
		return ErrGoexit
	}
	return nil
}

// recycle puts a fiber without a life where the next is found.
func (t *fiber) recycle(s *shell) {
	switch ex := t.w.ex; {
	case t.w.gone:
	case !t.fit() || !poolable(t):
		if t.started { // it was idle, and its new life was cancelled before it began
			t.endIdle(t.by)
		}
	case s == nil:
		t.recycle(newShell(t))
	case ex != nil:
		ex.hands = append(ex.hands, s)
	case t.started:
		idleFibers.Put(s)
	}
}

// endIdle ends the goroutine of an idle fiber. by is the caller, nil for an
// ordinary goroutine or a loop.
func (t *fiber) endIdle(by *worker) {
	t.by = by
	if by != nil {
		by.inner.Set(t)
	}
	t.resume() // finds no life, and ends
}

// cancel is Fiber.Cancel. With a nil shell nobody can say any more that it is dead.
func (h *hand) cancel(s *shell) error {
	err := h.check()
	t := h.t
	if err == nil && !h.begun {
		t.locals = localValues{}
		t.of = nil
		h.id.Set(0)
		t.last.over()
		t.recycle(s)
		return nil
	}
	if err == nil {
		err = h.enter()
	}
	if err != nil {
		return err
	}
	t.cancelled = true
	t.resume()
	t.last.over()
	if err := t.settle(s); err != ErrGoexit {
		return err
	}
	return nil
}
