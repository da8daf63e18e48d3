package cosync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Future is a value that is not there yet, or the error in its place. It is completed once; any number of coroutines and goroutines
// wait for that. The zero Future is ready for use. It must not be copied.
//
// Get of a completed Future is one atomic load. The value is copied under a spin lock when it is set, so T should not be very large:
// use a pointer then.
type Future[T any] struct {
	done  atomic.Bool // false, then true for ever, by who completes it, under guard
	guard waitq.Guard
	queue waitq.Queue // under guard
	value T           // written once, before done; constant after it
	err   error       // as value
}

// NewFuture returns a Future that is yet to be completed.
func NewFuture[T any]() *Future[T] { return new(Future[T]) }

// Set completes f with a value and wakes all who wait for it. It reports false, and changes nothing, if f is complete. Does not park.
func (f *Future[T]) Set(v T) bool { return f.complete(v, nil) }

// Fail completes f with an error and wakes all who wait for it. It reports false, and changes nothing, if f is complete. Does not park.
// It panics if err is nil, which would look like success.
func (f *Future[T]) Fail(err error) bool {
	if err == nil {
		panic("cosync: Future.Fail with a nil error")
	}
	var none T
	return f.complete(none, err)
}

// Done reports whether f is complete, so that Get will not wait.
func (f *Future[T]) Done() bool { return f.done.Load() }

// Get returns what f was completed with, and waits until it is: a coroutine parks, a goroutine blocks. When the scheduler ends by force
// before that, it returns coroutine.ErrShutdown.
func (f *Future[T]) Get() (T, error) {
	if f.done.Load() {
		return f.value, f.err
	}
	return f.getSlow(coroutine.Bound{})
}

// GetTimeout is Get for d at most. It returns os.ErrDeadlineExceeded if f is not complete by then.
func (f *Future[T]) GetTimeout(d time.Duration) (T, error) {
	if f.done.Load() {
		return f.value, f.err
	}
	return f.getSlow(coroutine.Within(d))
}

// GetContext is Get until ctx ends. It returns ctx.Err() if f is not complete by then. A coroutine allocates when it parks.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	if f.done.Load() {
		return f.value, f.err
	}
	return f.getSlow(coroutine.During(ctx))
}

// opDone is the access of this type, for tests that take them apart.
const opDone waitq.Op = "look whether complete"

func (f *Future[T]) isDone() bool {
	waitq.Step(opDone)
	return f.done.Load()
}

func (f *Future[T]) complete(v T, err error) bool {
	f.guard.Lock()
	if f.isDone() {
		f.guard.Unlock()
		return false
	}
	f.value, f.err = v, err
	waitq.Step(opDone)
	f.done.Store(true)
	var b waitq.Batch
	b.TakeAll(&f.queue)
	f.guard.Unlock()
	b.Wake()
	return true
}

func (f *Future[T]) getSlow(b coroutine.Bound) (T, error) {
	if why := f.wait(b); why != coroutine.WakeReady {
		var none T
		return none, b.Err(why)
	}
	return f.value, f.err
}

// wait waits until f is complete, then it returns WakeReady, or b is over.
func (f *Future[T]) wait(b coroutine.Bound) coroutine.Wake {
	why := b.Over()
	w := waitq.Acquire()
	f.guard.Lock()
	done := f.isDone()
	if done {
		why = coroutine.WakeReady
	}
	if done || why != coroutine.WakeReady {
		f.guard.Unlock()
	} else {
		f.queue.Push(w, 1)
		f.guard.Unlock()
		why = waitq.Wait(w, coroutine.ReasonFuture, b, &f.guard, (*futurePlace[T])(f))
	}
	waitq.Release(w)
	return why
}

// futurePlace is a Future as the place in which its waiters wait.
type futurePlace[T any] Future[T]

// Leave: nobody is held back by another who waits.
func (p *futurePlace[T]) Leave(w *coroutine.Waiter, _ *waitq.Batch) { p.queue.Remove(w) }
