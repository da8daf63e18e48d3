package cosync

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Group is a number of functions that work at one task, each in a coroutine of its own: x/sync's errgroup.Group. The first error is the
// group's. The zero Group has no limit and no context. It must not be copied.
//
// A panic is not taken from its coroutine to the one that waits, any more than by errgroup: it goes to Options.OnPanic, or
// crashes the program with the stack of where it happened. If OnPanic lets the program go on, the function's error is a [*PanicError].
// A function that calls runtime.Goexit has ended without an error; one that is ended by force, with coroutine.ErrShutdown.
//
// It may be used from coroutines and goroutines. Go and SetLimit before Wait.
type Group struct {
	cancel func(error) // constant; nil for none

	guard   waitq.Guard
	limited bool        // under guard, as all that follows
	limit   int         // if limited
	active  int         // functions that have not ended, with those about to be started
	err     error       // the first
	room    waitq.Queue // of Go at the limit: each is given the place of one that has ended
	idle    waitq.Queue // of Wait, until active is 0
}

// The kinds of waiters.
const (
	forRoom uintptr = 1 + iota
	forIdle
)

// WithContext returns a Group and a context that ends with the first error, which is its cause, or when Wait has returned, or with ctx.
// In a coroutine use [Wait] or an XxxContext to wait for its end; a receive from its Done channel would hold up the Processor.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// SetLimit lets at most n functions run at a time; without a limit if n is negative. It panics while any are running.
func (g *Group) SetLimit(n int) {
	g.guard.Lock()
	if active := g.active; active != 0 {
		g.guard.Unlock()
		panic(fmt.Sprintf("cosync: SetLimit while %d functions of the Group are running", active))
	}
	g.limited, g.limit = n >= 0, n
	var b waitq.Batch
	for !g.room.Empty() && g.roomLocked() { // those who came with a limit of 0
		g.active++
		b.Take(&g.room, g.room.Front())
	}
	g.guard.Unlock()
	b.Wake()
}

// Go starts f as a coroutine where netco.Go would. At the limit it waits until another has ended, those who wait in the order in
// which they came: a coroutine parks, and unwinds ([coroutine.Unwind]) when the scheduler ends by force; a goroutine blocks. If f cannot be
// started, the error of that counts as f's.
//
//go:noinline
func (g *Group) Go(f func() error) {
	site := asm.CallerPC()
	mustBeFunc(f)
	g.enter()
	g.start(f, site)
}

// TryGo is Go if that need not wait, and reports whether it was. Does not park.
//
//go:noinline
func (g *Group) TryGo(f func() error) bool {
	site := asm.CallerPC()
	mustBeFunc(f)
	if !g.tryEnter() {
		return false
	}
	g.start(f, site)
	return true
}

// Wait waits until all functions have ended, ends the Group's context, and returns the first error. A coroutine parks, a goroutine
// blocks. When the scheduler ends by force before that, it returns coroutine.ErrShutdown.
func (g *Group) Wait() error { return g.wait(coroutine.Bound{}) }

// WaitTimeout is Wait for d at most. If some are still running then it returns os.ErrDeadlineExceeded, and they go on.
func (g *Group) WaitTimeout(d time.Duration) error { return g.wait(coroutine.Within(d)) }

// WaitContext is Wait until ctx ends. If some are still running then it returns ctx.Err(), and they go on. With a context
// that the functions do not have it tells whether they have ended; with the Group's own it does not wait for those that are still running
// after the first error. A coroutine allocates when it parks.
func (g *Group) WaitContext(ctx context.Context) error { return g.wait(coroutine.During(ctx)) }

func mustBeFunc(f func() error) {
	if f == nil {
		panic("cosync: a Group's Go of a nil func")
	}
}

func (g *Group) start(f func() error, site uintptr) {
	if _, err := coroutine.Start(func() { g.run(f) }, "", site); err != nil {
		g.leave(err)
	}
}

// run calls f and makes its end known, however it ends.
func (g *Group) run(f func() error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := coroutine.Recovered(recover()); v != nil {
			g.leave(&PanicError{Value: v, Stack: debug.Stack()})
			panic(v) // what it was about to do; the frames of f are below this one still
		}
		g.leave(goexit(nil))
	}()
	err := f()
	returned = true
	g.leave(err)
}
