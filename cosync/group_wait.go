package cosync

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// roomLocked reports whether one more may run.
func (g *Group) roomLocked() bool { return !g.limited || g.active < g.limit }

// tryEnter takes a place for one more function, unless it would have to wait.
func (g *Group) tryEnter() bool {
	g.guard.Lock()
	defer g.guard.Unlock()
	if !g.room.Empty() || !g.roomLocked() {
		return false
	}
	g.active++
	return true
}

// enter takes a place for one more function, and waits for it if it must.
func (g *Group) enter() {
	w := waitq.Acquire()
	why := coroutine.WakeReady
	if g.enqueue(w) {
		why = waitq.Wait(w, coroutine.ReasonGroup, coroutine.Bound{}, &g.guard, (*groupPlace)(g))
	}
	waitq.Release(w)
	if why != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// enqueue takes a place if there is one; else it queues w for one and reports true.
func (g *Group) enqueue(w *coroutine.Waiter) bool {
	g.guard.Lock()
	defer g.guard.Unlock()
	if g.room.Empty() && g.roomLocked() {
		g.active++
		return false
	}
	g.room.Push(w, forRoom)
	return true
}

// leave gives back a place, with the error of whatever had it.
func (g *Group) leave(err error) {
	if err != nil {
		g.fail(err)
	}
	var b waitq.Batch
	g.guard.Lock()
	if !g.room.Empty() {
		b.Take(&g.room, g.room.Front())
	} else if g.active--; g.active == 0 {
		b.TakeAll(&g.idle)
	}
	g.guard.Unlock()
	b.Wake()
}

// fail makes err the group's, if it is the first. The context is over before the place is given back, so before Wait returns.
func (g *Group) fail(err error) {
	g.guard.Lock()
	first := g.err == nil
	if first {
		g.err = err
	}
	g.guard.Unlock()
	if first && g.cancel != nil {
		g.cancel(err)
	}
}

func (g *Group) wait(b coroutine.Bound) error {
	if why := g.waitIdle(b); why != coroutine.WakeReady {
		return b.Err(why)
	}
	g.guard.Lock()
	err := g.err
	g.guard.Unlock()
	if g.cancel != nil {
		g.cancel(err)
	}
	return err
}

// waitIdle waits until no function runs, then it returns WakeReady, or b is over.
func (g *Group) waitIdle(b coroutine.Bound) coroutine.Wake {
	why := b.Over() // not under guard: a context has a lock of its own
	w := waitq.Acquire()
	g.guard.Lock()
	switch {
	case g.active == 0:
		g.guard.Unlock()
		why = coroutine.WakeReady
	case why != coroutine.WakeReady:
		g.guard.Unlock()
	default:
		g.idle.Push(w, forIdle)
		g.guard.Unlock()
		why = waitq.Wait(w, coroutine.ReasonGroup, b, &g.guard, (*groupPlace)(g))
	}
	waitq.Release(w)
	return why
}

// groupPlace is a Group as the place in which its waiters wait.
type groupPlace Group

// Leave: nobody is held back by another who waits.
func (p *groupPlace) Leave(w *coroutine.Waiter, _ *waitq.Batch) {
	if waitq.Kind(w) == forRoom {
		p.room.Remove(w)
	} else {
		p.idle.Remove(w)
	}
}
