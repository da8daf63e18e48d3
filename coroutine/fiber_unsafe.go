package coroutine

import (
	"runtime"
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
//	running or suspended, in a life                 cur is not nil              idle, gone or doomed, at the life's end
//	idle    parked in main                          a pool, through its shell   running, by New and enter; gone
//	doomed  parked, and to end                      Executor.doomed             gone, by the loop, see context.Context.Exit
//	gone    it has ended                            nowhere
type fiber struct {
	w  worker // first: workerOf
	of *hand  // the life it runs, or is to run; nil while idle

	last life // of's Yielder, or that of the last one

	from *context.Context // whom it gives control back to: by's, or back
	by   *worker          // who has resumed it; nil for an ordinary goroutine
	byG  uintptr          // by's goroutine
	back context.Context  // of an ordinary goroutine that resumes it

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

	refused uint8 // what the last Yield returns, as an index of refusals
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
	eventPark    // portable backend: it waits for something, so who resumed it must wait too
	eventRefused // from drive: it was not resumed
)

func fiberOf(c *context.Context) *fiber { return (*fiber)(unsafe.Pointer(c)) }

// check reports whether the life can be resumed by the caller, and remembers the caller if so.
func (h *hand) check() error {
	g, locks := asm.Where()
	if goruntime.RaceEnabled { // what is cached below may be another thread's just now, which is no matter but looks like one
		if _, err := h.caller(g, locks); err != nil {
			return err
		}
	}
	t := h.t
	if g == t.byG && locks == h.locks && (t.by == nil || !t.by.gone) {
		if t.running {
			return ErrRunning
		}
		return nil
	}
	w, err := h.caller(g, locks)
	if err == nil && t.running {
		err = ErrRunning // and who has resumed it stays the one
	}
	if err == nil && t.started { // before, there is nothing that Resume's short way could switch to
		t.met(w, g)
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

// met remembers who resumes t next.
func (t *fiber) met(w *worker, g uintptr) {
	t.by, t.byG, t.from = w, g, &t.back
	if w != nil {
		t.from = &w.ctx
	}
}

// caller returns the worker of the calling goroutine, nil for an ordinary one, if that is at h's home.
func (h *hand) caller(g, locks uintptr) (*worker, error) {
	w := self()
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

// enter makes the fiber the running one; the caller then switches to it. Fiber.Resume has its own where it can do without check.
func (h *hand) enter() error {
	if err := h.check(); err != nil {
		return err
	}
	t := h.t
	if !t.started {
		t.start()
		t.met(self(), asm.Getg())
	}
	h.begun = true
	t.running, t.event = true, eventYield
	if w := t.by; w != nil {
		if co := w.co.Own(); co != nil {
			t.w.co.Set(co)
			if context.Symmetric() {
				co.w = &t.w
			}
		}
		if !context.Symmetric() {
			w.inner = t
		}
	}
	return nil
}

// exit undoes enter on the fiber's side; it then switches to t.from.
func (t *fiber) exit() {
	t.running = false
	if w := t.by; w != nil {
		if !context.Symmetric() {
			w.inner = nil
		}
		if co := t.w.co.Own(); co != nil {
			t.w.co.Set(nil)
			if context.Symmetric() {
				co.w = w
			}
		}
	}
}

// refusals are Yield's errors, by hand.refused. As long as that can count, so that no index is checked.
var refusals = [256]error{1: ErrOutside, 2: ErrCancelled, 3: ErrThreadLocked}

// leave is exit for Yield, unless it returns what to refuse with. h may be of a life that is over, and the caller anybody.
func (h *hand) leave() (refused uint8) {
	t := h.t
	g, locks := asm.Where()
	switch {
	case t == nil || t.w.ctx.G() != g || t.of != h:
		return 1
	case t.cancelled:
		return 2
	case locks != h.locks:
		return 3
	}
	t.exit()
	return 0
}

// pauseGo is pause in full. The assembly has the common case and calls this for all others.
func pauseGo(h *hand) {
	if h.refused = h.leave(); h.refused != 0 {
		return
	}
	h.t.yield()
	pausedGo(h)
}

// pausedGo is what follows the switch, in full.
func pausedGo(h *hand) {
	t := h.t
	if t.w.ctx.Relaying() {
		t.w.ctx.PassOn()
	}
	h.refused = 0 // somebody outside may have tried
	if t.cancelled {
		runtime.Goexit()
	}
}

// inside reports whether the caller is the coroutine itself.
func (h *hand) inside() bool { return h.t != nil && h.t.w.ctx.G() == asm.Getg() && h.t.of == h }

// resume is the switch to the fiber with the portable backend. When the fiber waits for something, so must its resumer.
func (t *fiber) resume() {
	for {
		t.event = eventYield
		t.back.Resume(&t.w.ctx)
		if t.event != eventPark {
			return
		}
		t.by.pause()
	}
}

// suspend gives the thread back to the executor's loop, with the portable backend, for a coroutine that runs on w or on a fiber
// that it has resumed.
func (w *worker) suspend() {
	for w.inner != nil {
		w = &w.inner.w
	}
	w.pause()
}

// pause is one step of that: back to who has resumed w, who goes on with it.
func (w *worker) pause() {
	if w.fiber != nil {
		w.fiber.event = eventPark
	}
	w.ctx.Suspend(nil)
}

// switchTo gives control to the fiber until it comes back. It is for rare cases; Fiber.Resume has its own.
func (t *fiber) switchTo() {
	if context.Symmetric() {
		t.from.Transfer(&t.w.ctx, t.from)
	} else {
		t.resume()
	}
}
