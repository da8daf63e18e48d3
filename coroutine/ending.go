package coroutine

import "sync/atomic"

// The end of one coroutine by force.
//
// Stop leaves the coroutine's id in its notice and sends the coroutine to its own thread as a wake does, or, if it is on its way to a
// thread, leaves it at that. The rest is done there (Executor.halt):
//
//	Handle.Stop finds it     then
//	dead, or another life    nothing: the notice names a life, and an id is never used twice
//	not adopted, or ready    its function is not called: worker.call looks at the notice. It ends as others do: joiners are told, what it
//	for the first time       has inherited is dropped, the coroutine it is a child of goes on
//	waiting                  that wait ends with WakeShutdown, and all later ones at once
//	ready, running           the wake that has made it ready stands; all later waits end at once
//	waiting or running,      when it is firm no longer: its later waits end at once
//	firm
//
// How a later wait knows, at no cost to others: halt leaves the coroutine as if a wake had come before the park (Coroutine.woken), for
// good. That is what Park looks at first in any case, and a later wake has no
// effect. Yield looks at Coroutine.halted.

// notice is the life that Stop was called for: a coroutine's id; 0 for none. Any thread; it is never taken back.
type notice = atomic.Uint64

// Stop ends one coroutine by force: the wait it is in and all that follow end as they do when the Scheduler ends by force. Those with an
// error result return ErrShutdown; Sleep, Yield and locks unwind the coroutine by runtime.Goexit, so that deferred calls run, which
// cannot wait either; a wait on a Cond locks L first. It returns at once; Join waits for the end.
//
// It is a request that the coroutine meets when it waits next: one that computes goes on, and so does one that takes no notice of
// ErrShutdown. A socket's operation that need not wait succeeds; of those that never wait, one in 32 fails. Nobody else is touched: what it
// had locked is locked until its deferred calls unlock it, and its sockets are as they were.
//
// One that has not started ends without its function being called. For one that has ended, or was stopped before, Stop does nothing.
// A coroutine may stop itself. Any thread, coroutine or goroutine. Does not park or allocate.
func (h Handle) Stop() {
	for {
		if h.Done() {
			return
		}
		old := h.co.notice.Load()
		if old == h.id {
			return
		}
		// Between this look and the exchange the life may end and another be stopped; then old is not there any more.
		if h.co.id.Load() == h.id && h.co.notice.CompareAndSwap(old, h.id) {
			break
		}
	}
	co := h.co
	w := driven() // first, as in Coroutine.Ready
	ex := co.ex.Load()
	if ex == nil {
		return // whoever adopts it finds the notice: see Adopt
	}
	if w != nil && w.ex == ex {
		ex.heed(co)
		return
	}
	if !co.queued.Swap(true) {
		ex.host.Post(co)
	}
}

// heed looks whether this life of co is to end. Owner only.
func (ex *Executor) heed(co *Coroutine) {
	if id := co.id.Own(); id != 0 && co.notice.Load() == id && !co.halted {
		ex.halt(co)
	}
}

// halt acts on Stop.
func (ex *Executor) halt(co *Coroutine) {
	co.halted = true
	if co.isShielded() {
		return
	}
	if State(co.status.Own()&0xff) == Waiting {
		ex.Ready(co, co.ticket, WakeShutdown)
	}
	co.woken = true
}

// parkWoken is Park when a wake has come already, or when there is to be no wait any more.
func (co *Coroutine) parkWoken() Wake {
	co.ticket++
	if co.halted && !co.isShielded() {
		co.wake = WakeShutdown // and woken stays
		return WakeShutdown
	}
	co.woken = false
	return co.wake
}

// halting reports whether the coroutine on w is to end by force. Owner only.
func (w *worker) halting(co *Coroutine) bool { return (w.ex.stopping || co.halted) && !co.isShielded() }

// isShielded reports whether no wait of co's is ended by force, see Shield. Owner only.
func (co *Coroutine) isShielded() bool {
	w := co.w.Own()
	return w != nil && w.shielded
}

// Stopping reports whether every wait of the caller, a coroutine, ends at once because it is to end by force: by its Handle's Stop, or
// with its Scheduler. On an ordinary goroutine it is false.
func Stopping() bool {
	w := CurrentWorker()
	if w == nil {
		return false
	}
	co := w.co.Own()
	return co != nil && w.halting(co)
}

// Shield calls f, in which no wait of the calling coroutine is ended by force, neither by Stop nor with the Scheduler: they wait for what they
// wait for. It is for what must not be left half done, such as waiting for what would outlive the coroutine otherwise, and holds up
// the Scheduler's end. What f waits for must come even so. An ordinary goroutine just calls f.
//
// Precondition: no Waiter is prepared for a Park.
func Shield(f func()) {
	co := Current()
	if co == nil || co.isShielded() {
		f()
		return
	}
	co.w.Own().shielded = true
	if co.halted {
		co.woken = false
	}
	defer func() {
		Rejoin()
		co.w.Own().shielded = false
		if co.halted {
			co.woken = true
		}
	}()
	f()
}
