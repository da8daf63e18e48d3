package coroutine

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/goruntime"
)

// fiber is what runs coroutines driven by hand, one after the other: a goroutine with its context, and who has resumed it.
//
// Its homes. A fiber made on a Processor's thread belongs to that thread's Executor: any coroutine there may resume it. Made
// elsewhere it belongs to one ordinary goroutine, its root, and to the fibers that this one drives. At home one thing runs at a
// time, so all fields are the home's, and only what says whose home it is (hand) is read by others.
//
// Its goroutine, between lives:
//
//	state   means                                   where the fiber is          becomes
//	none    it has not been resumed yet             with its shell              running, by enter
//	running or suspended, in a life                 of is not nil               idle or gone, at the life's end
//	idle    parked in main                          a pool, through its shell   running, by New and enter; gone
//	gone    it has ended                            nowhere
type fiber struct {
	w  worker // first: workerOf
	of *hand  // the life it runs, or is to run; nil while idle

	last life // of's Yielder, or that of the last one

	by  *worker // its resumer; nil for an ordinary goroutine
	byG uintptr // by's goroutine

	event     event
	running   bool // between enter and exit; its resumer's Resume keeps the shell meanwhile
	started   bool
	lost      bool // it cannot be reaped
	cancelled bool
	bubble    bool    // its home is a goroutine in a bubble of testing/synctest; constant
	made      uintptr // the thread locks under which its goroutine was made
	failure   *PanicError
	tags      unsafe.Pointer // its maker's profiler labels, until it starts
	locals    localValues
	ids       struct{ next, end uint64 } // numbers to give out, when there is no executor to ask
}

// hand is what of a Yielder does not depend on its types. It stays with its fiber, for lives of those types.
type hand struct {
	t     *fiber          // constant
	id    counter.Counter // of the life; 0 between lives; read by any thread
	root  counter.Counter // the ordinary goroutine that is its home, if it is no executor's; constant in a life; read by any thread
	locks uintptr         // how its maker was locked to its thread; constant in a life
	begun bool            // it has been resumed
}

// life is a Yielder, of any types.
type life interface {
	run()
	over()
}

// event says why control came back to who resumed a fiber.
type event uint8

const (
	eventYield event = iota
	eventTransfer
	eventReturn
	eventGoexit
	eventPark // portable backend: it waits for something, so its resumer must wait too
)

func fiberOf(c *context.Context) *fiber { return (*fiber)(unsafe.Pointer(c)) }

// check reports whether the life can be resumed by the caller, and remembers the
// caller if so.
func (h *hand) check() error {
	g, locks := asm.Where()
	if goruntime.RaceEnabled { // what is cached below may be another thread's just now, which is no matter but looks like one
		if _, err := h.caller(g, locks); err != nil {
			return err
		}
	}
	t := h.t
	if g == t.byG && locks == h.locks && (t.by == nil || !t.by.gone && t.by.ex == t.w.ex) { // by may run another coroutine by now, elsewhere
		if by := t.by; by != nil && by.away.Load() != attached {
			by.attached()
		}
		if t.running {
			return ErrRunning
		}
		return nil
	}
	w, err := h.caller(g, locks)
	if err == nil && t.running {
		err = ErrRunning // and its resumer stays the one
	}
	if err == nil {
		t.by, t.byG = w, g
	}
	return err
}

// status is Fiber.Status while it lives.
func (h *hand) status() Status {
	t := h.t
	switch {
	case !t.running && !h.begun:
		return StatusReady
	case !t.running:
		return StatusSuspended
	case RunningID() == h.id.Load():
		return StatusRunning
	}
	return StatusNormal
}

// caller returns the worker of the calling goroutine, nil for an ordinary one, if that is at h's home.
func (h *hand) caller(g, locks uintptr) (*worker, error) {
	w := CurrentWorker()
	switch {
	case h.t.w.ex != nil:
		if w == nil || w.ex != h.t.w.ex {
			return nil, ErrWrongThread
		}
	case w == nil:
		if g != uintptr(h.root.Load()) {
			return nil, ErrWrongThread
		}
	case w.fiber == nil || w.fiber.of == nil || w.fiber.of.root.Own() != h.root.Load():
		return nil, ErrWrongThread
	}
	if locks != h.locks {
		return nil, ErrThreadLocked
	}
	return w, nil
}

// enter makes the fiber the running one; the caller then resumes it.
func (h *hand) enter() error {
	if err := h.check(); err != nil {
		return err
	}
	t := h.t
	if !t.started {
		t.start()
	}
	h.begun = true
	t.running, t.event = true, eventYield
	if by := t.by; by != nil {
		if co := by.co.Own(); co != nil {
			t.w.co.Set(co)
			co.pinned = true // t belongs to its executor
		}
		by.inner.Set(t)
	}
	return nil
}

// exit undoes enter on the fiber's side, but for its resumer's inner: see
// worker.blocked. The fiber then suspends itself, or ends.
func (t *fiber) exit() {
	t.w.open.Close()
	t.running = false
	if t.w.co.Own() != nil {
		t.w.co.Set(nil)
	}
}

// refusals are Yield's errors, by what leave returns. As long as that can count, so that no index is checked.
var refusals = [256]error{1: ErrOutside, 2: ErrCancelled, 3: ErrThreadLocked}

// leave is exit for Yield, unless it returns what to refuse with. h may be of a
// life that is over, and the caller anything.
func (h *hand) leave() (refused uint8) {
	t := h.t
	g, locks := asm.Where()
	if t == nil || t.w.ctx.G() != g || t.of != h {
		return 1
	}
	if t.w.co.Own() != nil {
		t.w.attached()
	}
	switch {
	case t.cancelled:
		return 2
	case locks != h.locks:
		return 3
	}
	t.exit()
	return 0
}

// inside reports whether the caller is the coroutine itself.
func (h *hand) inside() bool { return h.t != nil && h.t.w.ctx.G() == asm.Getg() && h.t.of == h }

// resume runs the fiber until it yields or ends. With the portable backend, when
// the fiber waits for something, so must its resumer.
func (t *fiber) resume() {
	if context.Direct() {
		t.w.ctx.Switch(&t.w.ctx)
	} else {
		for t.w.ctx.Resume(nil); t.event == eventPark; t.w.ctx.Resume(nil) {
			t.by.pause()
			t.event = eventYield
		}
	}
	t.resumed()
}

// resumed is the resumer's part when it runs on.
func (t *fiber) resumed() {
	if t.w.ctx.HasCall() {
		t.w.ctx.ServeCalls()
	}
	if t.by != nil {
		t.by.inner.Set(nil) // here, so that what is parked in the switch is never the innermost
	}
}

// suspend gives control back to the loop; it returns when the coroutine is
// resumed. w is the coroutine's own; the caller may be a fiber that it has
// resumed.
func (w *worker) suspend() {
	open := w.open.Own()
	w.open.Close()
	if context.Direct() {
		w.ctx.Switch(&w.ctx)
		if w.ctx.HasCall() {
			w.ctx.ServeCalls()
		}
	} else {
		w.innermost().pause()
	}
	w.open.Restore(open)
}

// pause is one step of suspend with the portable backend: back to the resumer of
// w, which goes on with it.
func (w *worker) pause() {
	if w.fiber != nil {
		w.fiber.event = eventPark
	}
	w.ctx.Suspend()
}
