package explore

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Step is waitq's, as all below. Primitives reach it by waitq.Step.
func (w *World) Step(op Op) {
	w.pause(at{op: op})
	switch op {
	case waitq.OpTag, waitq.OpSettle, waitq.OpReleased, waitq.OpRelease:
	default:
		w.see(op)
	}
}

// Guard stops before an attempt to take g.
func (w *World) Guard(g *waitq.Guard) { w.pause(at{op: waitq.OpGuard, guard: g}) }

// Acquire gives the thread its waiter.
func (w *World) Acquire() *coroutine.Waiter {
	t := w.running
	if t.waiting {
		w.fail("thread %d acquired its waiter twice", t.id)
	}
	t.waiting, t.prepared = true, t.ticket
	return &t.waiter
}

// Release takes the waiter back.
func (w *World) Release(wt *coroutine.Waiter) {
	t := w.running
	switch {
	case wt != &t.waiter || !t.waiting:
		w.fail("thread %d released a waiter that is not its own", t.id)
	case wt.Tag != 0 && !waitq.IsReleased(wt):
		w.fail("thread %d released its waiter with tag %d", t.id, wt.Tag)
	case t.Goroutine && t.woken:
		w.fail("thread %d released its waiter with a wake in it", t.id)
	}
	t.waiting, t.why, t.seen = false, coroutine.WakeReady, 0
	wt.Link, wt.Prev, wt.Tag = nil, nil, 0
}

// Move stops a coroutine until the loop that it moves to runs it.
func (w *World) Move() {
	if w.roaming && !w.running.Goroutine {
		w.pause(at{op: opMove})
	}
}

// Prepare readies the waiter for one more park.
func (w *World) Prepare(*coroutine.Waiter) { w.running.prepared = w.running.ticket }

// Park stops until the search ends it.
func (w *World) Park(wt *coroutine.Waiter, limit coroutine.Limit) coroutine.Wake {
	t := w.running
	if wt != &t.waiter || !t.waiting {
		w.fail("thread %d parked with a waiter that is not its own", t.id)
	}
	w.pause(at{op: opPark, bound: t.endOf(limit)})
	t.ticket++
	switch t.move.how {
	case shutdown:
		t.why = coroutine.WakeShutdown
	case overdue:
		if t.why = t.at.bound; t.why == coroutine.WakeCancelled {
			t.endless.over = true
		}
	default:
		t.why = coroutine.WakeReady
		t.woken = false
	}
	if !t.Goroutine {
		t.woken = false
	}
	return t.why
}

// endOf returns what else may end a park under limit.
func (t *Thread) endOf(limit coroutine.Limit) coroutine.Wake {
	switch limit {
	case coroutine.Limit{}:
		return coroutine.WakeReady
	case coroutine.Context(&t.endless):
		return coroutine.WakeCancelled
	}
	return coroutine.WakeTimeout
}

// Drain waits for a goroutine's token.
func (w *World) Drain(*coroutine.Waiter) {
	if t := w.running; t.Goroutine {
		w.pause(at{op: opDrain})
		t.woken = false
	}
}

// Waking reads which park of wt the next Wake is for. Nothing changes that from
// the claim to the release.
func (w *World) Waking(wt *coroutine.Waiter) {
	id, by := w.Owner(wt), w.running
	by.waking = wt
	switch {
	case id < 0 && wt.Hook() == nil:
		w.fail("thread %d wakes a waiter that is no thread's", by.id)
	case id < 0:
	case !w.threads[id].waiting || !waitq.IsClaimed(wt):
		w.fail("thread %d wakes thread %d, which does not wait", by.id, id)
	default:
		by.wakes = w.threads[id].prepared
	}
}

// Wake ends the park that Waking read, if it is still the present one.
func (w *World) Wake() {
	by := w.running
	wt := by.waking
	w.pause(at{op: opWake, wake: wt})
	by.waking = nil
	id := w.Owner(wt)
	if id < 0 {
		wt.Wake()
		return
	}
	switch t := w.threads[id]; {
	case t.Goroutine && !t.waiting:
		w.fail("thread %d woke thread %d, a goroutine, which does not wait", by.id, id)
	case t.Goroutine && t.woken:
		w.fail("thread %d woke thread %d, a goroutine, a second time", by.id, id)
	case t.Goroutine || by.wakes == t.ticket:
		t.woken = true
	} // else it is for an old park and does nothing
}

// Unwind ends the thread.
func (w *World) Unwind() { panic(unwound{}) }

// Shield begins or ends a part in which the thread's parks do not end by
// shutdown. The call stack, which is part of the state, shows which it is in.
func (w *World) Shield(on bool) { w.running.shielded = on }

// ctx is a context that ends when the search says so.
type ctx struct{ over bool }

// Context returns the thread's own context, which ends during a park under it,
// at any time, or never.
func (t *Thread) Context() context.Context { return &t.endless }

func (*ctx) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*ctx) Done() <-chan struct{}       { return nil }
func (*ctx) Value(any) any               { return nil }

func (c *ctx) Err() error {
	if c.over {
		return context.Canceled
	}
	return nil
}
