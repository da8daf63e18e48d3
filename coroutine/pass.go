package coroutine

// Pass is Yield, but does not unwind a coroutine that is to end by force, with
// the scheduler or alone: for one that on its way out needs what another, on its
// own way out, is about to let go of.
func Pass() {
	w := CurrentWorker()
	if w == nil || w.co.Own() == nil || !w.halting(w.co.Own()) {
		Yield()
		return
	}
	w.pass()
}

// pass queues the coroutine up and gives control to the loop.
func (w *worker) pass() {
	co := w.co.Own()
	w.ex.runq.push(co)
	co.w.Own().suspend()
}
