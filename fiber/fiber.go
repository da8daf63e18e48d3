// Package fiber has coroutines driven by hand: a Fiber runs when it is resumed,
// until it yields. It is a generator, a parser that is fed piece by piece, a
// state machine written as straight-line code.
//
//	squares := fiber.New(func(y *fiber.Yielder[struct{}, int], _ struct{}) int {
//		for i := 1; ; i++ {
//			y.Yield(i * i)
//		}
//	})
//	for n := range squares.All(struct{}{}) { ... }
//
// A Fiber needs no Scheduler, but may be used in one's coroutines: a Fiber that
// waits for I/O parks the coroutine that has resumed it.
//
// # Contract
//
// A Fiber belongs to where it was made: in a coroutine to its Processor, so
// that any coroutine there may resume it, and such a coroutine does not move to
// another Processor any more; on an ordinary goroutine to that goroutine.
// Fibers resume one another to any depth. A Fiber is a value, which may be
// copied and compared; the zero Fiber has ended.
//
// When the last copy of a suspended Fiber is gone it is cancelled some time
// after a garbage collection. A body that refers to its own Fiber keeps it
// alive; Cancel ends such a one, and one made under runtime.LockOSThread.
//
// In the words of Moura and Ierusalimschy, "Revisiting coroutines" (2009),
// these are full asymmetric coroutines; Transfer makes them symmetric ones.
package fiber

import "github.com/netco-go/netco/coroutine"

// Fiber is a coroutine driven by hand, made by [New]. Its methods are
//
//	Resume(in In) (Out, error)   runs it until it yields or ends
//	All(in In) iter.Seq[Out]     what it yields, as a sequence
//	Cancel() error               ends it, running its deferred calls
//	Status() Status              what it is doing
//	ID() uint64                  a number that no other coroutine has or had
//
// Resume returns what the Fiber yields or, at its end, what its body returns;
// Status distinguishes the two. The errors are ErrDead, ErrRunning,
// ErrWrongThread, ErrThreadLocked and, after runtime.Goexit, netco.ErrGoexit.
// If the body panics, so does Resume, with a *netco.PanicError. Resume parks if
// the body does. It does not allocate.
type Fiber[In, Out any] = coroutine.Fiber[In, Out]

// Yielder is a Fiber seen from inside; its body is given it. Its methods are
//
//	Yield(out Out) (In, error)                      gives out to the resumer
//	Transfer(to Fiber[In, Out], in In) (In, error)  runs another in its place
//	ID() uint64                                     the Fiber's
//
// Both suspend the Fiber and return what the next Resume brings. Neither
// allocates. The errors are ErrOutside, ErrCancelled, ErrThreadLocked, and of
// Transfer ErrTransferSelf and Resume's for the other one; then the Fiber has
// not been suspended. In one that is cancelled they do not return: deferred
// calls run, and it ends.
type Yielder[In, Out any] = coroutine.Yielder[In, Out]

// New makes a Fiber that will run body, and does not run it yet. The first
// Resume's value is body's argument, the later ones' are Yield's results. It
// panics if body is nil. It does not park.
//
// It does not allocate when a goroutine is at hand whose last Fiber had the
// same types. Goroutines are used again; those of ordinary goroutines until two
// garbage collections find them idle.
func New[In, Out any](body func(y *Yielder[In, Out], in In) Out) Fiber[In, Out] {
	return coroutine.New(body)
}

// Status is what a Fiber is doing.
type Status = coroutine.Status

// The statuses.
const (
	Dead      = coroutine.StatusDead
	Ready     = coroutine.StatusReady     // made, not resumed yet
	Suspended = coroutine.StatusSuspended // in Yield or Transfer
	Running   = coroutine.StatusRunning   // it calls Status
	Normal    = coroutine.StatusNormal    // it waits: for a Fiber, I/O, a timer or a lock
)

// RunningID returns the ID of the Fiber that calls it, the innermost; 0
// outside. It does not park.
func RunningID() uint64 { return coroutine.RunningID() }

// Errors; all work with errors.Is.
var (
	// ErrDead is of a Fiber that has ended, and of the zero Fiber.
	ErrDead = coroutine.ErrDead
	// ErrRunning is of one that runs, or waits for one that it has resumed;
	// Cancel returns it too.
	ErrRunning = coroutine.ErrRunning
	// ErrWrongThread is returned on another Processor or goroutine than the one
	// on which the Fiber was made.
	ErrWrongThread = coroutine.ErrWrongThread
	// ErrThreadLocked is returned when runtime.LockOSThread has been called, or
	// undone, since the Fiber was made: Go cannot switch to it then. A callback
	// from C and the initialisation of packages count as such a call.
	ErrThreadLocked = coroutine.ErrThreadLocked
	// ErrOutside is returned by a Yielder's methods outside its Fiber. To call
	// them from another thread while the Fiber runs is a data race besides.
	ErrOutside = coroutine.ErrOutside
	// ErrTransferSelf is returned by a Transfer to the calling Fiber.
	ErrTransferSelf = coroutine.ErrTransferSelf
	// ErrCancelled is returned in deferred calls of a Fiber being cancelled.
	ErrCancelled = coroutine.ErrCancelled
)
