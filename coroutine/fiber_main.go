package coroutine

import (
	"runtime/debug"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
)

// start makes the goroutine, on the thread and under the thread locks that it
// will run with.
func (f *fiber) start() {
	f.started = true
	_, f.made = asm.Where()
	f.w.ctx.Init(fiberMain)
}

func fiberMain(c *context.Context) { fiberOf(c).main() }

// main runs one incarnation after the other.
func (f *fiber) main() {
	enroll(&f.w)
	defer f.finish()
	for f.core != nil {
		f.call()
		f.end(eventReturn)
		if !f.reusable() || !poolable(f) {
			return
		}
		f.w.ctx.Suspend()
	}
}

// finish ends the goroutine; after a Goexit it first ends the incarnation. The
// runtime then resumes the resumer, which is parked in the fiber's context.
func (f *fiber) finish() {
	if f.core != nil {
		defer f.finish() // deferred, as a Local's Drop may unwind too
		f.end(eventGoexit)
		return
	}
	expel(&f.w)
	f.w.gone = true
}

// reusable reports whether the goroutine may run further incarnations: it was
// made under the same thread locks, and not in a bubble.
func (f *fiber) reusable() bool {
	if ex := f.w.ex; ex != nil {
		return !f.started || f.made == ex.locks && (f.made == 0 || asm.LocksKnown())
	}
	return f.made == 0 && !f.bubble
}

// call runs the incarnation's body between the hooks, and catches a panic.
func (f *fiber) call() {
	clean(f.tags)
	f.tags = nil
	f.w.pinning.Unpin()
	if f.cancelled {
		return // cancelled before its first Resume: end only drops the inherited locals
	}
	catch(func() {
		if list := hooks.Load(); list != nil {
			nest(*list, f.last.run)
		} else {
			f.last.run()
		}
	}, f.failed)
}

// failed notes the incarnation's panic.
func (f *fiber) failed(value any) {
	if f.failure == nil {
		f.failure = &PanicError{value, debug.Stack()}
	}
}

// end ends the incarnation.
func (f *fiber) end(why event) {
	c := f.core
	f.w.attached()
	for f.locals.any() { // a Drop that panics ends the incarnation by that panic
		catch(f.locals.drop, f.failed)
		f.w.attached()
	}
	f.exit()
	goruntime.SetLabels(nil) // otherwise the labels' memory stays reachable
	f.event = why
	f.core = nil
	c.id.Set(0)
	f.cancelled = false
}
