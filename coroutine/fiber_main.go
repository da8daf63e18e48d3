package coroutine

import (
	"runtime/debug"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
)

// start makes the goroutine, on the thread and under the locks under which it
// will run.
func (t *fiber) start() {
	t.started = true
	_, t.made = asm.Where()
	if ex := t.w.ex; ex != nil {
		ex.listFiber(t)
	}
	t.w.ctx.Init(fiberMain)
}

// listFiber adds t to the executor's fibers. Owner only.
func (ex *Executor) listFiber(t *fiber) {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	t.w.index = int32(len(ex.fibers))
	ex.fibers = append(ex.fibers, t)
}

// unlistFiber takes t out of them. Owner only.
func (ex *Executor) unlistFiber(t *fiber) {
	if goruntime.RaceEnabled {
		defer t.w.enter()()
	}
	last := len(ex.fibers) - 1
	ex.fibers[t.w.index] = ex.fibers[last]
	ex.fibers[t.w.index].w.index = t.w.index
	ex.fibers[last] = nil
	ex.fibers = ex.fibers[:last]
}

func fiberMain(c *context.Context) { fiberOf(c).main() }

// main runs one incarnation after the other.
func (t *fiber) main() {
	enroll(&t.w)
	defer t.finish()
	for t.of != nil {
		t.call()
		t.end(eventReturn)
		if !t.fit() || !poolable(t) {
			return
		}
		t.w.ctx.Suspend()
	}
}

// finish ends the goroutine, and first the incarnation if a Goexit has ended
// it. The runtime then resumes the resumer, which is parked in the fiber's
// context.
func (t *fiber) finish() {
	if t.of != nil {
		defer t.finish() // deferred, as a Local's Drop may unwind too
		t.end(eventGoexit)
		return
	}
	if ex := t.w.ex; ex != nil {
		ex.unlistFiber(t)
	}
	expel(&t.w)
	t.w.gone = true
}

// fit reports whether the goroutine may run further incarnations: those made
// under the same thread locks, and outside bubbles.
func (t *fiber) fit() bool {
	if ex := t.w.ex; ex != nil {
		return !t.started || t.made == ex.locks && (t.made == 0 || asm.LocksKnown())
	}
	return t.made == 0 && !t.bubble
}

// call runs the incarnation's body between the hooks, and catches a panic.
func (t *fiber) call() {
	clean(t.tags)
	t.tags = nil
	t.w.open.Open()
	if t.cancelled {
		return // before its first Resume: it only drops what it has inherited
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := Recovered(recover()); value != nil {
			t.failure = &PanicError{value, debug.Stack()}
		}
	}()
	if hooks.Load() != nil {
		hooked(t.last.run)
	} else {
		t.last.run()
	}
	returned = true
}

// end ends the incarnation.
func (t *fiber) end(why event) {
	c := t.of
	t.w.attached()
	for t.locals.any() {
		t.dropLocals()
		t.w.attached()
	}
	t.exit()
	goruntime.SetLabels(nil) // or what they hold is kept
	t.event = why
	t.of = nil
	c.id.Set(0)
	t.cancelled = false
}

// dropLocals drops the locals while Current and the like still work. A Drop
// that panics ends the incarnation by that panic, but the other locals are
// dropped.
func (t *fiber) dropLocals() {
	dropped := false
	defer func() {
		if dropped {
			return
		}
		if value := Recovered(recover()); value != nil && t.failure == nil {
			t.failure = &PanicError{value, debug.Stack()}
		}
	}()
	t.locals.drop()
	dropped = true
}
