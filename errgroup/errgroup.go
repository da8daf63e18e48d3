// Package errgroup is golang.org/x/sync/errgroup for coroutines, name for name:
// it runs functions that are parts of one task, and has the first error.
//
//	import "golang.org/x/sync/errgroup"            // before
//	import "github.com/netco-go/netco/errgroup"    // after
//
// A function that a coroutine starts runs on a coroutine, and one that a
// goroutine starts on a goroutine. Waits park coroutines and block goroutines.
//
// Package cosync's Group always starts coroutines. It has bounded waits, and
// returns as an error what this one runs on a goroutine: a coroutine that is
// refused.
//
// # What differs
//
//   - In a coroutine use cosync.Wait, or an XxxContext, to wait for the end of
//     the context; a receive from its Done channel holds up the Processor.
//   - A panic on a coroutine goes to Options.OnPanic. If that lets the program
//     continue, the function has ended without an error.
//   - At a forced shutdown, Go and Wait end the coroutine that waits in them
//     (coroutine.Unwind).
package errgroup

import (
	"context"
	"errors"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/cosync"
	"github.com/netco-go/netco/internal/beside"
)

// Group runs functions that are parts of one task. The zero Group has no limit
// and no context. It must not be copied, nor used again for another task.
type Group struct {
	cancel func(error)       // constant; nil for none
	sem    *cosync.Semaphore // constant while functions run; nil for no limit
	limit  int64             // of sem, constant while functions run
	wg     cosync.WaitGroup
	once   cosync.Once
	err    error // written in once
}

// WithContext returns a Group and a context that is done with the first error,
// which is its cause, when Wait returns, or with ctx.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// Go calls f on a coroutine if a coroutine calls it and none is refused, and
// else on a goroutine. At the limit it waits until another function has ended:
// a coroutine parks, a goroutine blocks. The first error of a function cancels
// the Group's context.
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
// reports whether it was called. It does not park.
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

// Wait waits until all functions have returned, cancels the Group's context,
// and returns the first error. A coroutine parks, a goroutine blocks.
func (g *Group) Wait() error {
	g.wg.Wait()
	if g.cancel != nil {
		g.cancel(g.err)
	}
	return g.err
}

// SetLimit lets at most n functions run at a time, none if n is 0, any number
// if it is negative. It panics while functions are running.
func (g *Group) SetLimit(n int) {
	if g.sem != nil && g.limit > 0 && !g.sem.TryAcquire(g.limit) {
		panic(errors.New("errgroup: modify limit while functions of the Group are running"))
	}
	g.sem, g.limit = nil, int64(n)
	switch {
	case n > 0:
		g.sem = cosync.NewSemaphore(g.limit)
	case n == 0:
		g.sem = cosync.NewSemaphore(1)
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
	beside.Go(func() {
		if err := f(); err != nil {
			g.once.Do(func() { g.fail(err) })
		}
	}, done, site)
}

func (g *Group) fail(err error) {
	g.err = err
	if g.cancel != nil {
		g.cancel(err)
	}
}
