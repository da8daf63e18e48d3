package coroutine

import (
	"runtime"

	"github.com/netco-go/netco/context"
)

// Ticket returns the number of the next park, for Ready.
func (co *Coroutine) Ticket() uint64 { return co.ticket }

// Park gives up the thread until Ready is called for the present ticket, and returns why it was woken. If that call
// has come already, it returns at once. When the scheduler is ending by force it returns WakeShutdown without
// waiting, and so it does once the coroutine's Handle was stopped. A wake can be early: check what was waited for.
//
// Precondition: co is the calling coroutine.
func (co *Coroutine) Park(reason Reason) Wake {
	ex := co.ex.Own()
	if co.woken {
		return co.parkWoken()
	}
	if ex.stopping && !co.firm {
		co.ticket++
		return WakeShutdown
	}
	co.checkLocks(ex, "waits")
	co.setState(Waiting, reason, ex.stamp)
	w := co.w
	to := &ex.loop
	if ex.runq.tail != ex.runq.head {
		to = ex.next()
	}
	if to != &w.ctx { // as worker.leave, here for one return less after the switch
		if context.Symmetric() {
			w.ctx.Switch(to, ex.warm())
			if w.ctx.Relaying() {
				w.ctx.PassOn()
			}
		} else {
			w.suspend()
		}
	}
	return co.wake
}

// Ready wakes co from the park with the given ticket, from any thread. For a ticket that is over it does nothing.
func (co *Coroutine) Ready(ticket uint64, why Wake) {
	ex := co.ex.Load()
	if ex == nil {
		return // the ticket is of a former life, the present one has not started
	}
	if w := self(); w != nil && w.ex == ex {
		ex.Ready(co, ticket, why)
		return
	}
	next := ticket<<8 | uint64(why)
	for {
		old := co.remote.Load()
		if old>>8 >= ticket {
			return // this ticket or a later one has been woken already
		}
		if co.remote.CompareAndSwap(old, next) {
			break
		}
	}
	if !co.queued.Swap(true) {
		ex.host.Post(co)
	}
}

// Arrive acts on a wake that another thread has posted. Owner only; the host calls it for what its inbox holds.
//
// Its waker waits on another thread, and has interrupted this one to be heard: so the woken coroutine goes in front of the
// queue, as long as those have not been given the thread more often than the others.
//
// What looks like a wake may be an errand: a function that another thread wants called here, on the loop, see peek.
func (ex *Executor) Arrive(co *Coroutine) {
	co.queued.Store(false) // before the load: a later wake posts again
	if home := co.ex.Load(); home == nil {
		if co.waiter.co == nil { // constant: an errand
			co.fn()
		}
		return // the wake was for an earlier life; nobody has woken the one to come
	} else if home != ex {
		// The wake was for an earlier life of the struct, which has moved since; a wake for the present life
		// may have relied on this node being on its way.
		if !co.queued.Swap(true) {
			home.host.Post(co)
		}
		return
	}
	word := co.remote.Load()
	queued := ex.runq.tail
	ex.Ready(co, word>>8, Wake(word&0xff))
	ex.heed(co)
	if ex.runq.tail != queued && ex.express > 0 {
		ex.express--
		ex.runq.lastFirst()
		ex.look()
	}
}

// Ready is Coroutine.Ready on the owning thread.
func (ex *Executor) Ready(co *Coroutine, ticket uint64, why Wake) {
	if co.ticket != ticket || co.woken {
		return
	}
	co.wake = why
	if State(co.status.Own()&0xff) != Waiting {
		co.woken = true // between Prepare and Park
		return
	}
	co.ticket++
	co.setState(Ready, ReasonNone, ex.stamp)
	ex.runq.push(co)
}

// Yield lets the other ready coroutines of this Processor run first. With none ready it returns at once, or lets the
// loop look for I/O when it has not for a while. On an ordinary goroutine it is runtime.Gosched.
func Yield() { yield(0) }

// YieldTurn is Yield that also ends the turn: the loop looks for I/O, timers and what other threads sent before anything
// else runs. For operations that can succeed for ever without waiting, which may hold locks: it does not unwind the coroutine
// but reports whether its waits end by force.
func YieldTurn() (stopping bool) {
	w := self()
	if w == nil || w.co.Own() == nil {
		runtime.Gosched()
		return false
	}
	co := w.co.Own()
	if !w.halting(co) {
		w.ex.budget = 0
		yield(0)
	}
	return w.halting(co)
}

// yieldGo is Yield in full. The assembly has the common case and jumps here for all others. The argument is not used: it
// makes callers reserve the stack slot that goes with a register argument, into which runtime.coroswitch, jumped to in
// the place of a func() with no such slot, would spill its own over a caller's variable.
func yieldGo(_ uintptr) {
	w := self()
	if w == nil || w.co.Own() == nil {
		runtime.Gosched()
		return
	}
	ex := w.ex
	to := ex.ahead
	if to == nil || ex.budget&(clockEvery-1) == 0 || ex.attention.Load() || w.co.Own().halted {
		if to = w.yieldTo(); to == nil {
			return
		}
	} else {
		// The run queue's oldest has started and there is budget: hand over to it. This is push, next and take in one.
		ex.budget--
		next, after := ex.runq.rotate(w.co.Own())
		ex.current.Set(next)
		ex.ahead = nil
		if after.w != nil {
			ex.ahead = &after.w.ctx
		}
	}
	// After this switch nothing may be done, as nothing is after the assembly's; see worker.exit for who relies on it.
	w.ctx.Switch(to, ex.warm())
}

// yieldTo is what Yield does when something else is due than handing over: starting a coroutine, looking at the clock, the
// loop, the end. It returns what to switch to, or nil if there is nothing to do or it has been done.
func (w *worker) yieldTo() *context.Context {
	ex := w.ex
	if w.halting(w.co.Own()) {
		Unwind()
	}
	if ex.budget > 0 && ex.runq.len() == 0 && !ex.attention.Load() {
		ex.budget--
		return nil
	}
	if len(ex.asked) > 0 {
		w.tell()
	}
	w.co.Own().checkLocks(ex, "yields")
	ex.runq.push(w.co.Own())
	if !context.Symmetric() {
		w.suspend()
		return nil
	}
	to := ex.next()
	if to == &w.ctx {
		return nil
	}
	return to
}

// Unwind ends the calling coroutine by runtime.Goexit, running its deferred calls: what a wait that cannot return an
// error does when it is woken by shutdown.
func Unwind() { runtime.Goexit() }
