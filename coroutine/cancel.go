package coroutine

import "github.com/netco-go/netco/internal/goruntime"

// Cancelling one coroutine.
//
// Handle.Stop stores the coroutine's id in its cancelRequest and sends the
// coroutine to its own thread as a wake does. If the coroutine is on its way to
// a thread, the store is enough. That thread does the rest (Executor.cancel):
//
//	Handle.Stop finds it  then
//	dead, or reused       nothing: an id is never used twice
//	not started           worker.call reads the request and does not call its
//	                      function; otherwise it ends as others do: joiners
//	                      wake, inherited locals are dropped
//	waiting               the wait ends with WakeShutdown, later waits at once
//	ready, running        the wake that made it ready stands; later waits end
//	                      at once
//	in Shield             waits after Shield end at once
//
// Coroutines that are not cancelled pay nothing for this: cancel leaves a
// coroutine as if a wake had come before its next park (Coroutine.woken), for
// good. Park checks that first in any case, and a later wake has no effect.
// Yield checks Coroutine.cancelled.

// Stop ends one coroutine by force: its present wait and all later waits end as
// they do when the Scheduler ends by force. Waits that return an error return
// ErrShutdown; Sleep, Yield and locks unwind the coroutine by runtime.Goexit,
// so that deferred calls run. Deferred calls cannot wait either. A wait on a
// Cond locks L first. Stop returns at once; Join waits for the end.
//
// The request takes effect at the coroutine's next wait. A coroutine that
// computes, or ignores ErrShutdown, runs on. An operation of a socket that need
// not wait succeeds; if a coroutine's operations never wait, one in 32 fails.
// No other coroutine is touched: the stopped coroutine's locks stay locked
// until its deferred calls unlock them, and its sockets stay as they were,
// since another coroutine may use them.
//
// A coroutine that has not started ends without a call of its function. If the
// coroutine has ended, or was stopped before, Stop does nothing. A coroutine
// may stop itself. Any thread, coroutine or goroutine. Does not park or
// allocate.
func (h Handle) Stop() {
	for {
		if h.Done() {
			return
		}
		old := h.co.cancelRequest.Load()
		if old == h.id {
			return
		}
		// Between Done and the exchange this incarnation may end and the next
		// be stopped; then the exchange fails.
		if h.co.id.Load() == h.id && h.co.cancelRequest.CompareAndSwap(old, h.id) {
			break
		}
	}
	co := h.co
	if goruntime.RaceEnabled {
		defer Own()()
	}
	w := driven() // first, as in Coroutine.MakeReady
	ex := co.ex.Load()
	if ex == nil {
		return // the executor that adopts it finds the request: see Adopt
	}
	if w != nil && w.ex == ex {
		ex.checkCancel(co)
		return
	}
	if !co.queued.Swap(true) {
		ex.host.Post(co)
	}
}

// checkCancel cancels co if Stop named its current incarnation. Owner only.
func (ex *Executor) checkCancel(co *Coroutine) {
	if id := co.id.Own(); id != 0 && co.cancelRequest.Load() == id && !co.cancelled {
		ex.cancel(co)
	}
}

// cancel ends co's present wait, unless it is shielded, and all later waits.
func (ex *Executor) cancel(co *Coroutine) {
	co.cancelled = true
	if co.Shielded() {
		return
	}
	if State(co.status.Own()&0xff) == Waiting {
		ex.MakeReady(co, co.ticket, WakeShutdown)
	}
	co.woken = true
}

// parkWoken is Park when a wake has come before it, or when the coroutine is
// cancelled.
func (co *Coroutine) parkWoken() Wake {
	co.ticket++
	if co.cancelled && !co.Shielded() {
		co.wake = WakeShutdown // woken stays set
		return WakeShutdown
	}
	co.woken = false
	return co.wake
}

// cancelling reports whether the waits of co, which runs on w, end at once.
// Owner only.
//
//go:norace
func (w *worker) cancelling(co *Coroutine) bool {
	return (w.ex.stopping || co.cancelled) && !co.Shielded()
}

// Shielded reports whether co is in Shield. Owner only.
//
//go:norace
func (co *Coroutine) Shielded() bool {
	w := co.w.Own()
	return w != nil && w.shielded
}

// Stopping reports whether every wait of the calling coroutine ends at once,
// after Handle.Stop or because its Scheduler ends by force. On an ordinary
// goroutine it is false.
func Stopping() bool {
	w := CurrentWorker()
	if w == nil {
		return false
	}
	co := w.co.Own()
	return co != nil && w.cancelling(co)
}

// Shield calls f. While f runs, neither Stop nor a Scheduler that ends by force
// ends a wait of the calling coroutine. It is for work that must not stay half
// done, such as a wait for work that must not outlive the coroutine. Shield
// holds up the Scheduler's end, so f must wait only for events that still
// happen then. On an ordinary goroutine it just calls f.
//
// Precondition: no Waiter is prepared for a Park.
func Shield(f func()) {
	co := Current()
	if co == nil || co.Shielded() {
		f()
		return
	}
	co.shield(true)
	defer func() {
		Rejoin()
		co.shield(false)
	}()
	f()
}

// shield begins or ends Shield. Owner only.
func (co *Coroutine) shield(on bool) {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	co.w.Own().shielded = on
	if co.cancelled {
		co.woken = !on
	}
}
