package coroutine

import "github.com/netco-go/netco/context"

// Pass is Yield, but does not unwind the coroutine when the scheduler is ending by force: for one that on its way out needs what
// another, on its own way out, is about to let go of.
func Pass() {
	w := self()
	if w == nil || w.co == nil || !w.ex.stopping {
		Yield()
		return
	}
	w.ex.runq.push(w.co)
	if !context.Symmetric() {
		w.suspend()
		return
	}
	w.ctx.Switch(&w.ex.loop, w.ex.warm()) // nothing after it, as in yieldGo
}
