package blocking

import (
	"container/list"
	"context"
	"runtime/debug"
	"sync"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// call is one function for a pool to run, and the coroutine that waits for it.
// The caller reuses the call when the function has ended; an abandoned call
// becomes garbage.
type call struct {
	// Constant while the call is under way.
	pool *Pool
	ctx  context.Context
	fn   func()

	// Under pool.mu.
	place  *list.Element     // in the pool's queue; nil once the call is out of the queue
	caller *coroutine.Waiter // nil: abandoned

	// Written by the function's goroutine, read by the caller after its wake.
	outcome outcome
	err     error // of refused
	failure *coroutine.PanicError

	main  func()      // c.run, made once
	leave waitq.Leave // c.leaveLocked, made once
}

// outcome is how a function ended.
type outcome uint8

const (
	unwound  outcome = iota // by runtime.Goexit
	returned                // as it should
	panicked                // with failure
	refused                 // it was not started, for the reason in err
)

var calls = sync.Pool{New: func() any {
	c := new(call)
	c.main, c.leave = c.run, c.leaveLocked
	return c
}}

// offload runs fn on a goroutine of its own while the caller, a coroutine, is
// parked.
func (p *Pool) offload(ctx context.Context, fn func()) error {
	if coroutine.Stopping() {
		return coroutine.ErrShutdown // it could not wait for fn
	}
	limit := coroutine.Context(ctx)
	w := waitq.Acquire(limit)
	c := calls.Get().(*call)
	c.pool, c.ctx, c.fn, c.caller = p, ctx, fn, w
	p.submit(c)
	why := waitq.Wait(w, coroutine.ReasonBlocking, limit, &p.mu, c.leave)
	waitq.Release(w)
	if why != coroutine.WakeReady {
		return limit.Err(why)
	}
	outcome, failure, err := c.outcome, c.failure, c.err
	*c = call{main: c.main, leave: c.leave}
	calls.Put(c)
	switch outcome {
	case panicked:
		panic(failure)
	case unwound:
		coroutine.Unwind()
	}
	return err
}

// leaveLocked abandons the call, because its caller stops waiting.
func (c *call) leaveLocked(w *coroutine.Waiter) {
	p := c.pool
	p.callers.Remove(w)
	c.caller = nil
	if c.place == nil {
		p.abandoned++
		return
	}
	p.queue.Remove(c.place)
}

// run is the goroutine of a call.
func (c *call) run() {
	defer c.finish() // also after a Goexit
	c.invoke()
}

// invoke runs the function and records how it ended. It does not return from a
// Goexit.
func (c *call) invoke() {
	defer func() {
		if c.outcome != unwound {
			return
		}
		if value := coroutine.Recovered(recover()); value != nil {
			c.outcome = panicked
			c.failure = &coroutine.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	// The caller's wake may be late, or the context may be the user's own type.
	if c.err = c.ctx.Err(); c.err != nil {
		c.outcome = refused
		return
	}
	c.fn()
	c.outcome = returned
}

// finish wakes the caller, if it still waits. It updates the pool's counts
// first, so that the caller's next call finds this call's place free.
func (c *call) finish() {
	p := c.pool
	p.mu.Lock()
	p.running--
	if c.outcome != refused {
		p.done++
	}
	p.startLocked()
	w, failure := c.caller, c.failure
	if w != nil {
		p.mu.Take(&p.callers, w)
	}
	p.mu.Unlock() // a caller that waits may reuse c from here on
	if w == nil && failure != nil {
		panic(failure) // no caller is left to panic
	}
}
