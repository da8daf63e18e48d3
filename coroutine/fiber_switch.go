package coroutine

import (
	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/invariant"
)

// fiber runs coroutines driven by hand, one after the other: a goroutine with
// its context, and its present resumer.
//
// A fiber made on a Processor's thread has that thread's Executor as its home:
// any coroutine there may resume it. The home of any other fiber is one
// ordinary goroutine, its root, together with the fibers that the root drives.
// A home runs one thing at a time, so it owns all fields; other threads read
// only the fields of core that identify the home.
//
// Its goroutine:
//
//	state       means                            becomes
//	none        not made: before the first       running, by enter
//	            Resume
//	running,    core is not nil                  idle or gone, at the
//	suspended                                    incarnation's end
//	idle        parked in main; a pool holds     running, by New and enter;
//	            the handle                       gone
//	gone        ended; in no pool                nothing
type fiber struct {
	w    worker // first: workerOf
	core *core  // the incarnation that it runs, or is to run; nil while idle

	last incarnation // the core's Yielder, or the previous one

	by  *worker // its resumer; nil for an ordinary goroutine
	byG uintptr // by's goroutine

	event     event
	running   bool // between enter and exit; the Resume keeps the handle meanwhile
	started   bool
	cancelled bool
	bubble    bool    // its home is a goroutine in a bubble of testing/synctest; constant
	made      uintptr // the thread locks under which its goroutine was made
	failure   *PanicError
	tags      labels // its creator's profiler labels, until it starts
	locals    localValues
	ids       ids // to give out, for a fiber of an ordinary goroutine
}

// core is the part of a Yielder that does not depend on its types. It stays
// with its fiber, for further incarnations of the same types. Any thread may
// read id and root.
type core struct {
	t     *fiber          // constant
	id    counter.Counter // of the incarnation; 0 between two
	root  counter.Counter // the goroutine that is its home, or 0; constant in an incarnation
	locks uintptr         // how its creator was locked to its thread; constant in an incarnation
	begun bool            // it has been resumed
}

// incarnation is a Yielder, of any types.
type incarnation interface {
	run()
	clear()
}

// event says why control came back to the resumer of a fiber.
type event uint8

const (
	eventYield event = iota
	eventTransfer
	eventReturn
	eventGoexit
	eventPark // portable backend: the fiber parks, so its resumer must park too
)

// check returns nil if the caller may resume the incarnation, and stores the
// caller as its resumer.
func (c *core) check() error {
	g, locks := asm.Where()
	if goruntime.RaceEnabled { // it would report the harmless race on by and byG below
		if _, err := c.caller(g, locks); err != nil {
			return err
		}
	}
	t := c.t
	// The worker by may run another coroutine meanwhile, on another executor.
	if g == t.byG && locks == c.locks && (t.by == nil || !t.by.gone && t.by.ex == t.w.ex) {
		if by := t.by; by != nil && by.away.load() != attached {
			by.attached()
		}
		if t.running {
			return ErrRunning
		}
		return nil
	}
	w, err := c.caller(g, locks)
	if err == nil && t.running {
		err = ErrRunning // the incarnation keeps its resumer
	}
	if err == nil {
		t.by, t.byG = w, g
	}
	return err
}

// status is Fiber.Status before the coroutine's end.
func (c *core) status() Status {
	t := c.t
	switch {
	case !t.running && !c.begun:
		return StatusCreated
	case !t.running:
		return StatusSuspended
	case RunningID() == c.id.Load():
		return StatusRunning
	}
	return StatusNormal
}

// caller returns the worker of the calling goroutine, nil for an ordinary one.
// It returns an error if the caller is not at c's home.
func (c *core) caller(g, locks uintptr) (*worker, error) {
	w := CurrentWorker()
	switch {
	case c.t.w.ex != nil:
		if w == nil || w.ex != c.t.w.ex {
			return nil, ErrWrongThread
		}
	case w == nil:
		if g != uintptr(c.root.Load()) {
			return nil, ErrWrongThread
		}
	case w.fiber == nil || w.fiber.core == nil || w.fiber.core.root.Own() != c.root.Load():
		return nil, ErrWrongThread
	}
	if locks != c.locks {
		return nil, ErrThreadLocked
	}
	return w, nil
}

// enter makes the fiber the running one; the caller then resumes it.
func (c *core) enter() error {
	if err := c.check(); err != nil {
		return err
	}
	if invariant.Enabled {
		holdsNothing("resumes a fiber")
	}
	t := c.t
	if !t.started {
		t.start()
	}
	c.begun = true
	t.running, t.event = true, eventYield
	if by := t.by; by != nil {
		if co := by.co.Own(); co != nil {
			t.w.co.Set(co)
			co.Pin() // t belongs to its executor
		}
		by.inner.Set(t)
	}
	return nil
}

// exit undoes enter on the fiber's side, except for the resumer's inner field:
// see worker.blocked. The fiber then suspends itself, or ends.
func (f *fiber) exit() {
	if invariant.Enabled {
		holdsNothing("suspends its fiber")
	}
	f.w.pinning.Pin()
	f.running = false
	if f.w.co.Own() != nil {
		f.w.co.Set(nil)
	}
}

// refusals are Yield's errors, by leave's result: an entry for each value of a
// byte, so that Go need not check the index.
var refusals = [256]error{1: ErrOutside, 2: ErrCancelled, 3: ErrThreadLocked}

// leave is exit for Yield, unless it returns an index of refusals. c's
// incarnation may have ended, and the caller may be any goroutine.
func (c *core) leave() (refused uint8) {
	t := c.t
	g, locks := asm.Where()
	if t == nil || t.w.ctx.G() != g || t.core != c {
		return 1
	}
	if t.w.co.Own() != nil {
		t.w.attached()
	}
	switch {
	case t.cancelled:
		return 2
	case locks != c.locks:
		return 3
	}
	t.exit()
	return 0
}

// inside reports whether the caller is the coroutine of c.
func (c *core) inside() bool { return c.t != nil && c.t.w.ctx.G() == asm.Getg() && c.t.core == c }

// resume runs the fiber until it yields or ends. With the portable backend,
// when the fiber parks its resumer must park too.
func (f *fiber) resume() {
	if context.Direct() {
		f.w.ctx.Switch(&f.w.ctx)
	} else {
		for f.w.ctx.Resume(nil); f.event == eventPark; f.w.ctx.Resume(nil) {
			f.by.pause()
			f.event = eventYield
		}
	}
	f.resumed()
}

// resumed is called by the resumer when control is back.
func (f *fiber) resumed() {
	if f.by != nil {
		// Cleared here, so that a fiber that is parked in the switch is never
		// the innermost.
		f.by.inner.Set(nil)
	}
}

// suspend gives control back to the loop; it returns when the coroutine is
// resumed. w is the coroutine's worker; the caller may be a fiber that the
// coroutine has resumed.
//
//go:norace
func (w *worker) suspend() {
	if invariant.Enabled {
		holdsNothing("gives up its thread")
	}
	was := w.pinning.Own()
	w.pinning.Pin()
	if context.Direct() {
		w.ctx.Switch(&w.ctx)
	} else {
		w.innermost().pause()
	}
	w.pinning.Restore(was)
}

// pause is one step of suspend with the portable backend: back to the resumer
// of w, which goes on with suspend.
//
//go:norace
func (w *worker) pause() {
	if w.fiber != nil {
		w.fiber.event = eventPark
	}
	w.ctx.Suspend()
}
