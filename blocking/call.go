package blocking

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ilist"
)

// reason is the wait that a parked caller shows.
const reason = coroutine.ReasonBlocking

// call is one function to be run by a pool, and the coroutine that waits for
// it.
//
// One word holds all that the caller, the worker and the context decide between
// them: the state, whether the context is done, and the ticket of the caller's
// park. Whoever changes the word so that the caller must check it again removes
// the ticket, and wakes the caller by it.
//
//	state      means                          becomes, by
//	waiting    in the queue, or with a        running, by the worker; abandoned,
//	           worker                         by the caller
//	running    the function runs              done, by the worker; abandoned, by
//	                                          the caller
//	done       the outcome is there           nothing: the caller reads the
//	                                          outcome and reuses the struct
//	abandoned  the caller waits no longer     nothing: the struct is garbage
//	                                          when the worker is done with it
type call struct {
	word atomic.Uint64
	pool *Pool // constant while the call is under way, as co, ctx and task

	// Guarded by pool.mu.
	ilist.Links[call]
	queued bool

	co   *coroutine.Coroutine
	ctx  context.Context
	task task

	// Written by the worker before done, read by the caller after it.
	outcome outcome
	err     error // of refused
	failure *coroutine.PanicError

	cancelled func() // c.cancel, made once
}

const (
	waiting = iota
	running
	done
	abandoned

	states      = 3
	contextDone = 1 << 2 // with waiting and running only
	ticketShift = 3      // tickets begin with 1: 0 is none
)

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
	c.cancelled = c.cancel
	return c
}}

var afterFunc = context.AfterFunc // a test has its own

// offload runs t on a worker while co, the caller, is parked.
func (p *Pool) offload(co *coroutine.Coroutine, ctx context.Context, t task) error {
	if coroutine.Stopping() {
		return coroutine.ErrShutdown // it could not wait for t
	}
	c := calls.Get().(*call)
	c.word.Store(waiting)
	c.pool, c.co, c.ctx, c.task = p, co, ctx, t
	p.submit(c)
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = afterFunc(ctx, c.cancelled)
	}
	err := c.await()
	quiet := stop()
	if err != nil {
		return err
	}
	outcome, failure, err := c.outcome, c.failure, c.err
	if quiet { // else cancel may be about to look at it
		c.release()
	}
	switch outcome {
	case panicked:
		panic(failure)
	case unwound:
		coroutine.Unwind()
	}
	return err
}

func (c *call) release() {
	c.pool, c.co, c.ctx, c.task = nil, nil, nil, nil
	c.outcome, c.failure, c.err = unwound, nil, nil
	calls.Put(c)
}

// await parks the caller until the call is done. An error is the reason why the
// caller has abandoned it.
func (c *call) await() error {
	for {
		old := c.word.Load()
		if old&states == done {
			return nil
		}
		if old&contextDone != 0 {
			if c.abandon() {
				return c.ctx.Err()
			}
			continue
		}
		if !c.word.CompareAndSwap(old, old&states|c.co.Ticket()<<ticketShift) {
			continue
		}
		// The waker that removed the ticket wakes this park and no other,
		// however late.
		if c.co.Park(reason) == coroutine.WakeShutdown && c.abandon() {
			return coroutine.ErrShutdown
		}
	}
}

// abandon makes the call abandoned, unless it is done.
func (c *call) abandon() bool {
	for {
		old := c.word.Load()
		if old&states == done {
			return false
		}
		if c.word.CompareAndSwap(old, abandoned) {
			c.pool.forget(c, old&states == running)
			return true
		}
	}
}

// cancel notifies the caller that the context is done. It runs on a goroutine
// of its own.
func (c *call) cancel() {
	for {
		old := c.word.Load()
		if s := old & states; s == done || s == abandoned {
			return
		}
		if c.word.CompareAndSwap(old, old&states|contextDone) {
			wake(c.co, old)
			return
		}
	}
}

// wake wakes the park whose ticket was in a call's word, if there was one.
func wake(co *coroutine.Coroutine, word uint64) {
	if ticket := word >> ticketShift; ticket != 0 {
		co.MakeReady(ticket, coroutine.WakeReady)
	}
}

// begin makes a waiting call a running one; it reports whether its caller still
// waits.
func (c *call) begin() bool {
	for {
		old := c.word.Load()
		if old&states == abandoned {
			return false
		}
		if c.word.CompareAndSwap(old, old|running) {
			return true
		}
	}
}

// invoke runs the function and records how it ended; it reports whether it was
// started. It does not return from a Goexit.
func (c *call) invoke() (started bool) {
	defer func() {
		if c.outcome != unwound {
			return
		}
		if value := coroutine.Recovered(recover()); value != nil {
			c.outcome = panicked
			c.failure = &coroutine.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	// cancel may be late, or the context a user's own.
	if err := c.ctx.Err(); err != nil {
		c.outcome, c.err = refused, err
		return false
	}
	started = true
	c.task.run()
	c.outcome = returned
	return started
}

// finish notifies the caller that the function has ended. The worker must not
// use the call afterwards.
func (c *call) finish() {
	for {
		old := c.word.Load()
		if old&states == abandoned {
			if c.failure != nil {
				panic(c.failure) // no caller does
			}
			return
		}
		if co := c.co; c.word.CompareAndSwap(old, done) {
			wake(co, old)
			return
		}
	}
}
