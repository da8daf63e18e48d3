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

// Group runs functions that are parts of one task, each in a coroutine of its
// own, as x/sync's errgroup.Group does. The first error is that of the Group.
// The zero Group has no limit and no context. It must not be copied.
//
// As with errgroup, Wait does not panic if a function has panicked: the panic
// goes to Options.OnPanic, or crashes the program with the stack that shows its
// origin. If OnPanic lets the program continue, the function's error is a
// [*PanicError]. A function that calls runtime.Goexit has no error; one that a
// forced shutdown ends has coroutine.ErrShutdown.
//
// Coroutines and goroutines may use a Group. Call Go and SetLimit before Wait.
type Group struct {
	cancel func(error) // constant; nil for none

	guard   waitq.Guard
	limited bool        // under guard, as all below
	limit   int         // if limited
	active  int         // functions that have not ended, and those about to start
	err     error       // the first
	starts  waitq.Queue // callers of Go at the limit; each gets the place of an ended function
	idle    waitq.Queue // callers of Wait, until active is 0
}

// The kinds of waiters.
const (
	kindStart uintptr = 1 + iota
	kindIdle
)

// WithContext returns a Group and a context that is done with the first error,
// which is its cause, when Wait returns, or with ctx. In a coroutine use [Wait]
// or an XxxContext to wait for its end; a receive from its Done channel would
// hold up the Processor.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// SetLimit lets at most n functions run at a time, any number if n is negative.
// It panics while functions are running.
func (g *Group) SetLimit(n int) {
	g.guard.Lock()
	if active := g.active; active != 0 {
		g.guard.Unlock()
		panic(fmt.Sprintf("cosync: SetLimit while %d functions of the Group are running", active))
	}
	g.limited, g.limit = n >= 0, n
	for !g.starts.Empty() && g.belowLimitLocked() { // queued at a limit of 0
		g.active++
		g.guard.Take(&g.starts, g.starts.Front())
	}
	g.guard.Unlock()
}

// Go starts f as a coroutine where netco.Go would. At the limit it waits until
// another function has ended, in the order of the calls: a coroutine parks, and
// unwinds ([coroutine.Unwind]) at a forced shutdown; a goroutine blocks. If f
// cannot be started, that error counts as the error of f.
//
//go:noinline
func (g *Group) Go(f func() error) {
	site := asm.CallerPC()
	mustBeFunc(f)
	g.enter()
	g.start(f, site)
}

// TryGo is Go if that takes no wait, and reports whether it was called. It does
// not park.
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

// Wait waits until all functions have ended, cancels the Group's context, and
// returns the first error. A coroutine parks, a goroutine blocks. At a forced
// shutdown it returns coroutine.ErrShutdown.
func (g *Group) Wait() error { return g.wait(coroutine.Limit{}) }

// WaitTimeout is Wait for at most d. If functions are still running it returns
// os.ErrDeadlineExceeded, and they continue.
func (g *Group) WaitTimeout(d time.Duration) error { return g.wait(coroutine.Timeout(d)) }

// WaitContext is Wait until ctx is done. If functions are still running it
// returns ctx.Err(), and they continue. With the Group's own context it does
// not wait for functions that still run after the first error. A coroutine
// allocates when it parks.
func (g *Group) WaitContext(ctx context.Context) error { return g.wait(coroutine.Context(ctx)) }

func mustBeFunc(f func() error) {
	if f == nil {
		panic("cosync: a Group's Go of a nil func")
	}
}

func (g *Group) start(f func() error, site uintptr) {
	var err error
	started := false
	defer func() { // also if Start panics, as a Local's Inherit may
		if !started {
			g.exit(err)
		}
	}()
	_, err = coroutine.Start(coroutine.Spec{Fn: func() { g.run(f) }, Site: site})
	started = err == nil
}

// run calls f and records its end, however f ends.
func (g *Group) run(f func() error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := coroutine.Recovered(recover()); v != nil {
			g.exit(&PanicError{Value: v, Stack: debug.Stack()})
			panic(v) // the stack still has the frames of f
		}
		g.exit(goexit(nil))
	}()
	err := f()
	returned = true
	g.exit(err)
}

// belowLimitLocked reports whether one more function may run.
func (g *Group) belowLimitLocked() bool { return !g.limited || g.active < g.limit }

// tryEnter counts one more function as active, unless it would have to wait.
func (g *Group) tryEnter() bool {
	g.guard.Lock()
	defer g.guard.Unlock()
	if !g.starts.Empty() || !g.belowLimitLocked() {
		return false
	}
	g.active++
	return true
}

// enter counts one more function as active, and waits at the limit.
func (g *Group) enter() {
	w := waitq.Acquire(coroutine.Limit{})
	why := coroutine.WakeReady
	if g.enqueueStart(w) {
		why = waitq.Wait(w, coroutine.ReasonGroup, coroutine.Limit{}, &g.guard, g.leaveLocked)
	}
	waitq.Release(w)
	if why != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// enqueueStart counts one more function as active, or queues w at the limit and
// reports true.
func (g *Group) enqueueStart(w *coroutine.Waiter) bool {
	g.guard.Lock()
	defer g.guard.Unlock()
	if g.starts.Empty() && g.belowLimitLocked() {
		g.active++
		return false
	}
	g.starts.Push(w, kindStart)
	return true
}

// exit ends a function: its place goes to the next start.
func (g *Group) exit(err error) {
	if err != nil {
		g.fail(err)
	}
	g.guard.Lock()
	if !g.starts.Empty() {
		g.guard.Take(&g.starts, g.starts.Front())
	} else if g.active--; g.active == 0 {
		g.guard.TakeAll(&g.idle)
	}
	g.guard.Unlock()
}

// fail records err if it is the first, and cancels the context. That happens
// before the function counts as ended, so before Wait returns.
func (g *Group) fail(err error) {
	g.guard.Lock()
	first := g.err == nil
	if first {
		g.err = err
	}
	g.guard.Unlock()
	if first && g.cancel != nil {
		g.cancel(err)
	}
}

func (g *Group) wait(limit coroutine.Limit) error {
	if why := g.waitIdle(limit); why != coroutine.WakeReady {
		return limit.Err(why)
	}
	g.guard.Lock()
	err := g.err
	g.guard.Unlock()
	if g.cancel != nil {
		g.cancel(err)
	}
	return err
}

// waitIdle waits within b until no function runs. It returns WakeReady if none
// does.
func (g *Group) waitIdle(limit coroutine.Limit) coroutine.Wake {
	why := limit.Expired() // not under the guard: a context has a lock of its own
	w := waitq.Acquire(limit)
	g.guard.Lock()
	switch {
	case g.active == 0:
		g.guard.Unlock()
		why = coroutine.WakeReady
	case why != coroutine.WakeReady:
		g.guard.Unlock()
	default:
		g.idle.Push(w, kindIdle)
		g.guard.Unlock()
		why = waitq.Wait(w, coroutine.ReasonGroup, limit, &g.guard, g.leaveLocked)
	}
	waitq.Release(w)
	return why
}

// leaveLocked implements waitq.Leave.
func (g *Group) leaveLocked(w *coroutine.Waiter) {
	if waitq.Kind(w) == kindStart {
		g.starts.Remove(w)
	} else {
		g.idle.Remove(w)
	}
}
