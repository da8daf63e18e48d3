package netco

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
)

// Coroutine is a coroutine as [Self] gives it. It is valid until that coroutine
// ends; a [Handle] is so for good.
type Coroutine coroutine.Coroutine

// Self returns the calling coroutine, or nil on an ordinary goroutine. It takes
// a few nanoseconds and does not park.
func Self() *Coroutine { return (*Coroutine)(coroutine.Current()) }

func (c *Coroutine) engine() *coroutine.Coroutine { return (*coroutine.Coroutine)(c) }

// ID returns a number that no other coroutine of this process has or had.
func (c *Coroutine) ID() uint64 { return c.engine().ID() }

// Name returns the name that it was started with, or SetName's; "" without one.
func (c *Coroutine) Name() string { return c.engine().Name() }

// Site returns the place of the go statement, so to speak: where it was
// started; "" and 0 if that is not known.
func (c *Coroutine) Site() (file string, line int) { return c.engine().Site() }

// Handle returns what identifies it for good.
func (c *Coroutine) Handle() Handle { return c.engine().Handle() }

// Handle identifies a coroutine from its start on, also after its end. The zero
// Handle is of one that has ended. Handles may be compared. Its methods are
//
//	Join() error   as [Join]
//	Stop()         ends it by force: its waits return, or end it running its
//	               deferred calls; does not park
//	Done() bool    whether it has ended
//	ID() uint64    its number
type Handle = coroutine.Handle

// PanicError is a panic that was passed on to whoever waits for a result.
type PanicError = coroutine.PanicError

// SetName gives the calling coroutine another name. On an ordinary goroutine it
// does nothing. It does not park.
func SetName(name string) { coroutine.SetName(&name, 0) }

// Stopping reports whether every wait of the calling coroutine returns at once
// because it is to end by force: by its Handle's Stop, or with the Scheduler.
// On an ordinary goroutine it is false. It does not park.
func Stopping() bool { return coroutine.Stopping() }

// Shield calls f, in which no wait of the calling coroutine is ended by force,
// neither by Stop nor with the Scheduler. It is for what must not be left half
// done, and holds up the Scheduler's end: what f waits for must come even so.
// On an ordinary goroutine it just calls f.
func Shield(f func()) { coroutine.Shield(f) }

// Local is a variable of which every coroutine has its own, a Fiber too, which
// does not share its resumer's. A coroutine that never asks for it has none,
// and pays nothing. Ordinary goroutines have one value together, made when one
// of them first asks: what they share must be safe for that. Its methods, which
// do not park, are
//
//	Get() *T    the caller's value, made if there is none; good until the
//	            coroutine's end
//	Peek() *T   the same, or nil if there is none
//	Set(v T)    sets it
type Local[T any] = coroutine.Local[T]

// LocalOptions say what a Local does beside holding a value. All fields may be
// left out:
//
//	Make    func() T            makes the value when it is first asked for;
//	                            the zero value otherwise. It panics to get or
//	                            set the same Local in there
//	Inherit func(parent *T) T   makes a new coroutine's from its creator's;
//	                            not inherited otherwise
//	Drop    func(*T)            gets the value at the coroutine's end; may
//	                            park
type LocalOptions[T any] = coroutine.LocalOptions[T]

// NewLocal makes a Local, once, as a package's variable.
func NewLocal[T any](o LocalOptions[T]) *Local[T] { return coroutine.NewLocal(o) }

// Hooks are called by every coroutine and Fiber at its start and end, as part
// of it: Self and Locals are its own, they may park, and a panic is its panic.
type Hooks = coroutine.Hooks

// AddHooks adds hooks for coroutines that start from now on, and returns a
// function that removes them for those that start after it. Start functions are
// called in the order in which they were added, End functions in the opposite
// one. It does not park.
func AddHooks(h Hooks) (remove func()) { return coroutine.AddHooks(h) }

// Info is what a coroutine was doing when [Range] or [Find] came by.
type Info struct {
	ID       uint64        // the number that Handle.ID returns
	Name     string        // of GoNamed or SetName; ""
	State    string        // ready, running or waiting
	WaitsFor string        // "data to read", "a lock"; "" unless it waits
	For      time.Duration // in that state, as of the start of its Processor's turn; 0 if not known
	info     coroutine.Info
}

func infoOf(i coroutine.Info) Info {
	info := Info{ID: i.ID, Name: i.Name, State: i.State.String(), WaitsFor: i.WaitsFor, info: i}
	if i.Since != 0 {
		info.For = max(time.Duration(clock.Now()-i.Since), 0)
	}
	return info
}

// Site returns where the coroutine was started; "" and 0 if that is not known.
// It takes about a microsecond.
func (i Info) Site() (file string, line int) {
	i.info.Resolve()
	return i.info.File, i.info.Line
}

// Stack returns the coroutine's stack as text, as [StackOf] does.
func (i Info) Stack(ctx context.Context) (string, error) { return i.info.Stack(ctx) }

// Range calls f for every coroutine of the process that has started and not
// ended, of all Schedulers, until f returns false. Fibers are not among them.
//
// It may be called on any thread, holds nothing up, does not park and does not
// allocate; a million take about 0.3 s. A coroutine that starts or ends
// meanwhile may be left out; all others are given to f once.
func Range(f func(Info) bool) {
	coroutine.Range(func(i coroutine.Info) bool { return f(infoOf(i)) })
}

// Find returns the Info of the coroutine with that id; false if it has not
// started, or has ended. It takes as long as a Range, and does not park.
func Find(id uint64) (Info, bool) {
	i, ok := coroutine.Find(id)
	if !ok {
		return Info{}, false
	}
	return infoOf(i), true
}

// StackOf returns the stack of the coroutine with that id as text, like
// debug.Stack's, without what is netco's own at either end. A Fiber's comes
// before its resumer's. The coroutine does not notice.
//
// It returns ErrNotFound for one that has ended or not started, and an error
// that wraps ErrBusy and ctx's if ctx ends first, because the coroutine
// computes without a pause. It parks a coroutine, blocks a goroutine; a
// coroutine may also get ErrShutdown.
func StackOf(ctx context.Context, id uint64) (string, error) { return coroutine.StackOf(ctx, id) }

// Errors of StackOf.
var (
	ErrNotFound = coroutine.ErrNotFound
	ErrBusy     = coroutine.ErrBusy
)

// CurrentProcessor returns the number of the Processor that the caller runs on,
// as GoOn takes it; -1 on an ordinary goroutine. After a wait a coroutine may
// be on another one, unless GoOn or GoLocal started it. It takes a few
// nanoseconds and does not park.
func CurrentProcessor() int {
	if p := processor.Current(); p != nil {
		return p.Index()
	}
	return -1
}
