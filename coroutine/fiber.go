package coroutine

import (
	"errors"
	"iter"
	"runtime"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
)

// Errors of coroutines driven by hand. Package fiber says which call returns
// which.
var (
	ErrDead        = errors.New("netco: the coroutine has ended")
	ErrRunning     = errors.New("netco: the coroutine is running")
	ErrWrongThread = errors.New("netco: the coroutine belongs to another thread or goroutine")

	ErrThreadLocked = errors.New(
		"netco: runtime.LockOSThread was called or undone since the coroutine was made")

	ErrOutside      = errors.New("netco: called from outside the coroutine")
	ErrTransferSelf = errors.New("netco: a coroutine cannot transfer to itself")
	ErrCancelled    = errors.New("netco: the coroutine is being cancelled")
	ErrGoexit       = errors.New("netco: the coroutine ended by runtime.Goexit")
)

// Status says what a coroutine driven by hand is doing.
type Status uint8

// The statuses.
const (
	StatusDead      Status = iota
	StatusCreated          // made, not resumed yet
	StatusSuspended        // in Yield or Transfer
	StatusRunning          // the coroutine itself calls Status
	StatusNormal           // waits for a coroutine that it has resumed, for I/O, a timer or a lock
)

func (s Status) String() string {
	return [...]string{"dead", "created", "suspended", "running", "normal"}[s]
}

// Fiber is a coroutine driven by hand. Copies of a Fiber are the same
// coroutine. Package fiber has its contract. Its home (see fiber) runs one
// thing at a time, so no operation needs an atomic instruction.
type Fiber[In, Out any] struct {
	handle *fiberHandle
	y      *Yielder[In, Out]
	id     uint64 // y's, while this is y's incarnation
}

// Yielder is a Fiber seen from inside: the argument of its body.
type Yielder[In, Out any] struct {
	core
	in   In
	out  Out
	fn   func(y *Yielder[In, Out], in In) Out
	next Fiber[In, Out] // with eventTransfer: the target, which gets in
}

func (y *Yielder[In, Out]) run() { y.out = y.fn(y, y.in) }

// clear drops all references to users' values. The Yielder stays with its
// goroutine for another incarnation of the same types.
func (y *Yielder[In, Out]) clear() {
	var in In
	var out Out
	y.in, y.out, y.fn = in, out, nil
}

// New is fiber.New.
func New[In, Out any](body func(y *Yielder[In, Out], in In) Out) Fiber[In, Out] {
	if body == nil {
		panic("netco/coroutine: New with a nil body")
	}
	s, by := acquireFiber()
	t := s.t
	y, ok := t.last.(*Yielder[In, Out])
	if !ok {
		y = new(Yielder[In, Out])
		y.t = t
		t.last = y
	}
	y.fn = body
	return Fiber[In, Out]{s, y, y.renew(by)}
}

// Resume runs the coroutine until it yields or ends, and returns the yielded
// value or, at its end, its body's result. fiber.Fiber has the errors.
func (f Fiber[In, Out]) Resume(in In) (out Out, err error) {
	y := f.y
	if y == nil || y.id.Load() != f.id {
		return out, ErrDead
	}
	if goruntime.RaceEnabled {
		y.t.raceAcquire()
		defer y.t.raceRelease()
	}
	if err = y.enter(); err != nil {
		return out, err
	}
	y.in = in
	t := y.t
	if context.Direct() { // resume, inlined to save a return after the switch
		t.w.ctx.Switch(&t.w.ctx)
		t.resumed()
	} else {
		t.resume()
	}
	if t.event == eventYield {
		return y.out, nil
	}
	return f.after(t)
}

// after is the rest of Resume for a coroutine that has not yielded: it
// transferred control to another coroutine, or has ended.
func (f Fiber[In, Out]) after(t *fiber) (out Out, err error) {
	y := f.y
	if t.event == eventTransfer {
		t.event = eventYield
		next, in := y.next, y.in
		y.next = Fiber[In, Out]{}
		return next.Resume(in)
	}
	if t.event == eventReturn {
		out = y.out
	}
	y.clear()
	return out, t.conclude(f.handle)
}

// Yield gives out to the resumer, and returns the next Resume's argument.
// fiber.Yielder has the errors, and what happens when it is cancelled.
func (y *Yielder[In, Out]) Yield(out Out) (In, error) {
	y.out = out
	if refused := y.leave(); refused != 0 {
		return y.in, refusals[refused]
	}
	w := &y.t.w
	// Suspend, inlined to save a return after the switch.
	if context.Direct() {
		w.ctx.Switch(&w.ctx)
	} else {
		w.ctx.Suspend()
	}
	w.pinning.Unpin()
	if y.t.cancelled {
		runtime.Goexit()
	}
	return y.in, nil
}

// Transfer suspends the coroutine, as Yield does, and runs the coroutine to in
// its place: the resumer gets the value that to yields or returns. It returns
// the argument of the next Resume of, or Transfer to, the suspended coroutine.
// Control goes through the resumer, which resumes to: two switches.
// fiber.Yielder has the errors.
func (y *Yielder[In, Out]) Transfer(to Fiber[In, Out], in In) (back In, err error) {
	switch {
	case !y.inside():
		return back, ErrOutside
	case y.t.cancelled:
		return back, ErrCancelled
	case to.y == nil || to.y.id.Load() != to.id:
		return back, ErrDead
	case to.y == y:
		return back, ErrTransferSelf
	}
	to.y.t.raceAcquire()
	if err = to.y.check(); err != nil {
		to.y.t.raceRelease()
		return back, err
	}
	if refused := y.leave(); refused != 0 {
		return back, refusals[refused]
	}
	t := y.t
	y.next, y.in = to, in
	t.event = eventTransfer
	t.w.ctx.Suspend()
	t.w.pinning.Unpin()
	if t.cancelled {
		runtime.Goexit()
	}
	return y.in, nil
}

// All returns a sequence of the values that the coroutine yields, each from a
// Resume(in). It ends when the coroutine does, without the body's result; a
// coroutine that has ended, or cannot be resumed here, gives an empty sequence.
// After a break the coroutine stays suspended.
func (f Fiber[In, Out]) All(in In) iter.Seq[Out] {
	return func(yield func(Out) bool) {
		for f.y != nil && f.y.id.Load() == f.id {
			out, err := f.Resume(in)
			if err != nil || f.y.id.Load() != f.id || !yield(out) {
				return
			}
		}
	}
}

// Cancel ends the coroutine: it runs its deferred calls, as by runtime.Goexit
// in its Yield, and is dead when Cancel returns. Nothing runs if the coroutine
// has ended, and only the Drops of inherited Locals if it was never resumed.
// The errors are ErrRunning, ErrWrongThread and ErrThreadLocked. If a deferred
// call panics, so does Cancel, with a *PanicError.
func (f Fiber[In, Out]) Cancel() error {
	if f.y == nil || f.y.id.Load() != f.id {
		return nil
	}
	if goruntime.RaceEnabled {
		f.y.t.raceAcquire()
		defer f.y.t.raceRelease()
	}
	return f.y.cancel(f.handle)
}

// Status returns what the coroutine is doing. Call it only where the coroutine
// may be resumed.
func (f Fiber[In, Out]) Status() Status {
	if f.y == nil || f.y.id.Load() != f.id {
		return StatusDead
	}
	if goruntime.RaceEnabled {
		f.y.t.raceAcquire()
		defer f.y.t.raceRelease()
	}
	return f.y.status()
}

// ID returns the coroutine's number, which no other coroutine of this process
// gets, driven by hand or not; 0 for the zero Fiber.
func (f Fiber[In, Out]) ID() uint64 { return f.id }

// ID returns the coroutine's id, as Fiber.ID; 0 once it has ended.
func (y *Yielder[In, Out]) ID() uint64 { return y.id.Load() }

// RunningID returns the ID of the innermost coroutine driven by hand that the
// caller runs in; 0 if there is none.
func RunningID() uint64 {
	if w := CurrentWorker(); w != nil && w.fiber != nil && w.fiber.core != nil {
		return w.fiber.core.id.Own()
	}
	return 0
}
