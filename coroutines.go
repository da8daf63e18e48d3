package netco

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// Handle identifies a coroutine from its start on, also after its end. The zero
// Handle counts as a coroutine that has ended. Handles may be compared. Its
// methods are
//
//	Join() error         waits for its end: ErrJoinSelf for the caller's own
//	                     Handle, ErrShutdown when the wait was ended by force;
//	                     parks a coroutine, blocks a goroutine
//	Stop()               ends it by force: its waits return, or end it running
//	                     its deferred calls; does not park
//	Done() bool          whether it has ended
//	ID() uint64          a number that no other coroutine of this process has
//	                     or had
//	Info() (Info, bool)  what it is doing; false before its start and after its
//	                     end
type Handle = coroutine.Handle

// Self returns the Handle of the calling coroutine, on an ordinary goroutine
// the zero Handle, whose ID is 0. It takes a few nanoseconds and does not park.
func Self() Handle {
	if co := coroutine.Current(); co != nil {
		return co.Handle()
	}
	return Handle{}
}

// PanicError is a panic that was passed on to the caller that waits for a
// result.
type PanicError = coroutine.PanicError

// SetName gives the calling coroutine another name. On an ordinary goroutine it
// does nothing. It does not park.
func SetName(name string) { coroutine.SetName(&name, 0) }

// Stopping reports whether every wait of the calling coroutine returns at once
// because it is to end by force: by its Handle's Stop, or with the Scheduler.
// On an ordinary goroutine it is false. It does not park.
func Stopping() bool { return coroutine.Stopping() }

// Shield calls f, in which no wait of the calling coroutine is ended by force,
// neither by Stop nor with the Scheduler. It is for actions that must not be
// left half done. It delays the Scheduler's end, so the waits of f must end
// during a shutdown, too. On an ordinary goroutine it just calls f.
func Shield(f func()) { coroutine.Shield(f) }

// Local is a variable with a value of its own for every coroutine, and for
// every Fiber, which does not share its resumer's value. A coroutine that never
// uses it has no value and pays nothing. All ordinary goroutines share one
// value, made at its first use, which must be safe for concurrent use. Its
// methods, which do not park, are
//
//	Get() *T    the caller's value, made if there is none; good until the
//	            coroutine's end
//	Peek() *T   the same, or nil if there is none
//	Set(v T)    sets it
type Local[T any] = coroutine.Local[T]

// LocalOptions are the functions of a Local. All fields may be left out:
//
//	Make    func() T            makes the value when it is first asked for;
//	                            the zero value otherwise. It panics to get or
//	                            set the same Local in there
//	Inherit func(parent *T) T   makes a new coroutine's from its creator's;
//	                            not inherited otherwise
//	Drop    func(*T)            gets the value at the coroutine's end; may
//	                            park
type LocalOptions[T any] = coroutine.LocalOptions[T]

// NewLocal makes a Local. Call it once, for a package variable.
func NewLocal[T any](o LocalOptions[T]) *Local[T] { return coroutine.NewLocal(o) }

// Hooks are called by every coroutine and Fiber at its start and end, as part
// of its code: Self and Locals are the coroutine's, hooks may park, and a panic
// counts as the coroutine's.
type Hooks = coroutine.Hooks

// AddHooks adds hooks for coroutines that start from now on, and returns a
// function that removes the hooks for coroutines that start later. Start
// functions are called in the order in which they were added, End functions in
// the opposite order. It does not park.
func AddHooks(h Hooks) (remove func()) { return coroutine.AddHooks(h) }

// Info is what a coroutine was doing when [Range], [Find] or [Handle.Info] read
// it. Its fields for users are
//
//	ID       uint64  the number that Handle.ID returns
//	Name     string  of Spawn or SetName; ""
//	State    State   ready, running, waiting or outside netco, as it prints
//	WaitsFor string  "data to read", "a lock"; "" unless it waits
//
// and its methods
//
//	For() time.Duration             in that state, as of the start of its
//	                                Processor's turn; 0 if not known
//	Place() (file, line)            where it was started; "" and 0 if that is
//	                                not known; takes about a microsecond
//	Stack(ctx) (string, error)      its stack as text, like debug.Stack's,
//	                                without what is netco's own at either end
//
// A Fiber's stack comes before its resumer's. The coroutine does not notice.
// Stack returns ErrNotFound for a coroutine that has ended; an error that wraps
// ErrBusy and ctx's error if ctx ends first, because the coroutine computes
// without a pause; ErrShutdown; or an error on a Go release whose stacks netco
// does not understand. Stack parks a coroutine and blocks a goroutine.
type Info = coroutine.Info

// Range calls f for every coroutine of the process that has started and not
// ended, of all Schedulers, until f returns false. Fibers are not among them.
//
// It may be called on any thread, holds nothing up, does not park and does not
// allocate; a million take about 0.3 s. A coroutine that starts or ends
// meanwhile may be left out; f gets every other coroutine once.
func Range(f func(Info) bool) { coroutine.Range(f) }

// Find returns the Info of the coroutine with that id; false if it has not
// started, or has ended. It takes as long as a Range, and does not park.
func Find(id uint64) (Info, bool) { return coroutine.Find(id) }

// Errors of Info.Stack.
var (
	ErrNotFound = coroutine.ErrNotFound
	ErrBusy     = coroutine.ErrBusy
)

// CurrentProcessor returns the number of the Processor that the caller runs on,
// as OnProcessor takes it; -1 on an ordinary goroutine. After a wait a
// coroutine may be on another Processor, unless it was started with On or
// Local. It takes a few nanoseconds and does not park.
func CurrentProcessor() int {
	if p := processor.Current(); p != nil {
		return p.Index()
	}
	return -1
}
