package coroutine

import "github.com/netco-go/netco/context"

// Pass is Yield, but does not unwind a coroutine that is to end by force, with the scheduler or alone: for one that on its way out needs what
// another, on its own way out, is about to let go of.
func Pass() {
	w := self()
	if w == nil || w.co.Own() == nil || !w.halting(w.co.Own()) {
		Yield()
		return
	}
	w.pass()
}

// pass queues the coroutine up and gives the thread to the loop.
func (w *worker) pass() {
	w.ex.runq.push(w.co.Own())
	if !context.Symmetric() {
		w.suspend()
		return
	}
	w.ctx.Switch(&w.ex.loop, w.ex.warm()) // nothing after it, as in yieldGo
}
