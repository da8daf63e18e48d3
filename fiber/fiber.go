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
// A Fiber works with and without a Scheduler: in a coroutine, a Fiber that
// waits for I/O parks the coroutine that has resumed it.
//
// # Contract
//
// A Fiber made in a coroutine belongs to the coroutine's Processor: any
// coroutine there may resume it, but a coroutine that makes or resumes a Fiber
// then stays on its Processor. A Fiber made on an ordinary goroutine belongs to
// that goroutine. Fibers resume one another to any depth. A Fiber is a value,
// which may be copied and compared; the zero Fiber has ended.
//
// When the last copy of a suspended Fiber is gone it is cancelled some time
// after a garbage collection. A body that refers to its own Fiber keeps it
// alive: end it by Cancel, like a Fiber made under runtime.LockOSThread.
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
//	ID() uint64                  a number that no other coroutine ever gets
//
// Resume returns what the Fiber yields or, at its end, what its body returns;
// Status distinguishes the two. The errors are ErrDead, ErrRunning,
// ErrWrongThread, ErrThreadLocked and, after runtime.Goexit, netco.ErrGoexit.
// If the body panics, so does Resume, with a *netco.PanicError. Resume parks if
// the body does. It does not allocate.
type Fiber[In, Out any] = coroutine.Fiber[In, Out]

// Yielder is the argument of a Fiber's body. Its methods are
//
//	Yield(out Out) (In, error)                      passes out to the resumer
//	Transfer(to Fiber[In, Out], in In) (In, error)  runs to in its place
//	ID() uint64                                     the Fiber's
//
// Both suspend the Fiber and return the next Resume's argument. Neither
// allocates. The errors are ErrOutside, ErrCancelled and ErrThreadLocked; for
// Transfer also ErrTransferSelf and Resume's errors for to. With an error the
// Fiber has not been suspended. In a Fiber that is cancelled neither returns:
// deferred calls run, and the Fiber ends.
type Yielder[In, Out any] = coroutine.Yielder[In, Out]

// New makes a Fiber that will run body, and does not run it yet. The first
// Resume's argument is body's argument; later arguments are Yield's results.
// New panics if body is nil. It does not park.
//
// It does not allocate if an idle goroutine's last Fiber had the same types.
// Goroutines are reused; on an ordinary goroutine, an idle one ends after two
// garbage collections.
func New[In, Out any](body func(y *Yielder[In, Out], in In) Out) Fiber[In, Out] {
	return coroutine.New(body)
}

// Status is what a Fiber is doing.
type Status = coroutine.Status

// The statuses.
const (
	Dead      = coroutine.StatusDead
	Created   = coroutine.StatusCreated   // made, not resumed yet
	Suspended = coroutine.StatusSuspended // in Yield or Transfer
	Running   = coroutine.StatusRunning   // the Fiber itself calls Status
	Normal    = coroutine.StatusNormal    // it waits: for a Fiber, I/O, a timer or a lock
)

// RunningID returns the ID of the innermost Fiber that the caller runs in; 0
// outside. It does not park.
func RunningID() uint64 { return coroutine.RunningID() }

// Errors; all work with errors.Is.
var (
	// ErrDead is returned for a Fiber that has ended, and for the zero Fiber.
	ErrDead = coroutine.ErrDead
	// ErrRunning is returned, by Cancel too, for a Fiber that runs, or waits
	// for a Fiber that it has resumed.
	ErrRunning = coroutine.ErrRunning
	// ErrWrongThread is returned on a different Processor or goroutine than the
	// Fiber was made on.
	ErrWrongThread = coroutine.ErrWrongThread
	// ErrThreadLocked is returned when runtime.LockOSThread has been called, or
	// undone, since the Fiber was made: Go cannot switch to the Fiber then. A
	// callback from C and package initialisation count as such calls.
	ErrThreadLocked = coroutine.ErrThreadLocked
	// ErrOutside is returned by a Yielder's methods outside its Fiber. Calling
	// them from another thread while the Fiber runs is also a data race.
	ErrOutside = coroutine.ErrOutside
	// ErrTransferSelf is returned by a Transfer to the calling Fiber.
	ErrTransferSelf = coroutine.ErrTransferSelf
	// ErrCancelled is returned in deferred calls of a Fiber being cancelled.
	ErrCancelled = coroutine.ErrCancelled
)
