// Package errgroup is golang.org/x/sync/errgroup for coroutines, name for name:
// it runs functions that are parts of one task, and returns the first error.
//
//	import "golang.org/x/sync/errgroup"            // before
//	import "github.com/netco-go/netco/errgroup"    // after
//
// A function that a coroutine starts runs on a coroutine, and a function that a
// goroutine starts runs on a goroutine. Waits park coroutines and block
// goroutines.
//
// WaitTimeout and WaitContext bound the wait for the functions.
//
// # What differs
//
//   - In a coroutine use netco/sync's Wait, or an XxxContext, to wait for the
//     end of the context; a receive from its Done channel holds up the
//     Processor.
//   - A panic on a coroutine goes to Options.OnPanic. If that lets the program
//     continue, the function's error is a *netco.PanicError.
//   - The error of a function that a forced shutdown ends is netco.ErrShutdown;
//     so is the error of a Wait in a coroutine then. Go at the limit ends the
//     coroutine.
package errgroup

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/sync"
)

// Group runs functions that are parts of one task. The zero Group has no limit
// and no context. It must not be copied, nor used again for another task.
type Group struct {
	cancel func(error)     // constant; nil for none
	sem    *sync.Semaphore // constant while functions run; nil for no limit
	limit  int64           // of sem, constant while functions run
	wg     sync.WaitGroup
	once   sync.Once
	err    error // written in once
}

// WithContext returns a Group and a context that is done with the first error,
// which is its cause, when Wait returns, or with ctx.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// Go calls f on a new coroutine, or on a new goroutine if a goroutine calls Go
// or if the coroutine is refused. At the limit it waits until another function
// has ended: a coroutine parks, a goroutine blocks. The first error of a
// function cancels the Group's context.
//
//go:noinline
func (g *Group) Go(f func() error) {
	site := asm.CallerPC()
	if g.sem != nil {
		g.sem.Acquire(1)
	}
	g.start(f, site)
}

// TryGo is Go if the number of running functions is below the limit, and
// reports whether it started f. It does not park.
//
//go:noinline
func (g *Group) TryGo(f func() error) bool {
	site := asm.CallerPC()
	if g.sem != nil && !g.sem.TryAcquire(1) {
		return false
	}
	g.start(f, site)
	return true
}

// Wait waits until all functions have ended, cancels the Group's context, and
// returns the first error. A coroutine parks, a goroutine blocks.
func (g *Group) Wait() error { return g.WaitTimeout(math.MaxInt64) }

// WaitTimeout is Wait for at most d. If functions are still running it returns
// os.ErrDeadlineExceeded, and they continue.
func (g *Group) WaitTimeout(d time.Duration) error { return g.waited(g.wg.WaitTimeout(d)) }

// WaitContext is Wait until ctx is done. If functions are still running it
// returns ctx.Err(), and they continue. With the Group's own context it does
// not wait for functions that still run after the first error. It allocates
// when it waits.
func (g *Group) WaitContext(ctx context.Context) error { return g.waited(g.wg.WaitContext(ctx)) }

// waited returns the Group's result for a wait that ended with err.
func (g *Group) waited(err error) error {
	if err != nil {
		return err
	}
	if g.cancel != nil {
		g.cancel(g.err)
	}
	return g.err
}

// SetLimit lets at most n functions run at a time: none if n is 0, any number
// if n is negative. It panics while functions are running.
func (g *Group) SetLimit(n int) {
	if g.sem != nil && g.limit > 0 && !g.sem.TryAcquire(g.limit) {
		panic(errors.New("errgroup: modify limit while functions of the Group are running"))
	}
	g.sem, g.limit = nil, int64(n)
	switch {
	case n > 0:
		g.sem = sync.NewSemaphore(g.limit)
	case n == 0:
		g.sem = sync.NewSemaphore(1)
		g.sem.Acquire(1) // for good
	}
}

func (g *Group) start(f func() error, site uintptr) {
	sem := g.sem
	done := func() {
		if sem != nil {
			sem.Release(1)
		}
		g.wg.Done()
	}
	g.wg.Add(1)
	beside.Go(func() { g.run(f) }, done, site)
}

// run calls f and records its error, however f ends. On a goroutine a panic
// crashes the program.
func (g *Group) run(f func() error) {
	returned := false
	defer func() {
		if returned || coroutine.Current() == nil {
			return
		}
		if v := coroutine.Recovered(recover()); v != nil {
			g.fail(&coroutine.PanicError{Value: v, Stack: debug.Stack()})
			panic(v) // the stack still has the frames of f
		}
		if coroutine.Stopping() {
			g.fail(coroutine.ErrShutdown)
		}
	}()
	err := f()
	returned = true
	if err != nil {
		g.fail(err)
	}
}

// fail records err if it is the first, and cancels the context. That happens
// before the function counts as ended, so before Wait returns.
func (g *Group) fail(err error) {
	g.once.Do(func() {
		g.err = err
		if g.cancel != nil {
			g.cancel(err)
		}
	})
}
