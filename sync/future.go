package sync

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Future is a value or an error that is set once. Any number of coroutines and
// goroutines may wait for it. The zero Future is ready for use. It
// must not be copied.
//
// Get of a completed Future is one atomic load. Set copies the value under a
// spin lock, so a large T should be a pointer.
type Future[T any] struct {
	done  atomic.Bool // false, then true for good, set under guard
	guard waitq.Guard
	queue waitq.Queue // under guard; empty once done
	value T           // written once, before done; constant afterwards
	err   error       // as value
}

// NewFuture returns a Future to be completed.
func NewFuture[T any]() *Future[T] { return new(Future[T]) }

// Async starts f as a coroutine, on the Processor that netco.Go would choose,
// and returns the Future of its result. The Future fails with the error of f;
// with a *netco.PanicError if f panics, which does not reach Options.OnPanic;
// with netco.ErrShutdown if a forced shutdown ended f or the scheduler does not
// start it any more; or with netco.ErrGoexit. Async does not park.
//
//go:noinline
func Async[T any](f func() (T, error)) *Future[T] {
	return async(f, asm.CallerPC())
}

func async[T any](f func() (T, error), site uintptr) *Future[T] {
	if f == nil {
		panic("sync: Async of a nil func")
	}
	future := NewFuture[T]()
	if _, err := coroutine.Start(coroutine.SpawnAt(func() { future.run(f) }, site)); err != nil {
		future.Fail(err)
	}
	return future
}

// Set completes f with a value and wakes all waiters. It reports false, and
// changes nothing, if f is complete. It does not park.
func (f *Future[T]) Set(v T) bool { return f.complete(v, nil) }

// Fail completes f with an error and wakes all waiters. It reports false, and
// changes nothing, if f is complete. It does not park. It panics if err is nil.
func (f *Future[T]) Fail(err error) bool {
	if err == nil {
		panic("sync: Future.Fail with a nil error")
	}
	var none T
	return f.complete(none, err)
}

// Done reports whether f is complete; then Get does not wait.
func (f *Future[T]) Done() bool { return f.done.Load() }

// Get waits until f is complete and returns its value or error. A coroutine
// parks, a goroutine blocks. At a forced shutdown it returns
// netco.ErrShutdown.
func (f *Future[T]) Get() (T, error) {
	if f.done.Load() {
		return f.value, f.err
	}
	return f.getSlow(coroutine.Limit{})
}

// GetTimeout is Get for at most d. It returns os.ErrDeadlineExceeded if f is
// not complete by then.
func (f *Future[T]) GetTimeout(d time.Duration) (T, error) {
	if f.done.Load() {
		return f.value, f.err
	}
	return f.getSlow(coroutine.Timeout(d))
}

// GetContext is Get until ctx is done. It returns ctx.Err() if f is not
// complete by then. A coroutine allocates when it parks.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	if f.done.Load() {
		return f.value, f.err
	}
	return f.getSlow(coroutine.Context(ctx))
}

// opDone is an access to done, for waitq.Step.
const opDone waitq.Op = "future done"

func (f *Future[T]) loadDone() bool {
	waitq.Step(opDone)
	return f.done.Load()
}

func (f *Future[T]) complete(v T, err error) bool {
	f.guard.Lock()
	if f.loadDone() {
		f.guard.Unlock()
		return false
	}
	f.value, f.err = v, err
	waitq.Step(opDone)
	f.done.Store(true)
	f.guard.TakeAll(&f.queue)
	f.guard.Unlock()
	return true
}

func (f *Future[T]) getSlow(limit coroutine.Limit) (T, error) {
	if err := within(limit, f.wait); err != nil {
		var none T
		return none, err
	}
	return f.value, f.err
}

// wait waits within limit until f is complete. It returns WakeReady if f is
// complete.
func (f *Future[T]) wait(limit coroutine.Limit) coroutine.Wake {
	return waitq.Await(coroutine.ReasonFuture, limit, &f.guard, f.enqueue, f.leaveLocked)
}

// enqueue queues w and reports true, unless f is complete by now.
func (f *Future[T]) enqueue(w *coroutine.Waiter) bool {
	f.guard.Lock()
	defer f.guard.Unlock()
	if f.loadDone() {
		return false
	}
	f.queue.Push(w, waitq.AnyKind)
	return true
}

// leaveLocked implements waitq.Leave.
func (f *Future[T]) leaveLocked(w *coroutine.Waiter) { f.queue.Remove(w) }

// run completes f with the result of fn, or with how fn ended otherwise.
func (f *Future[T]) run(fn func() (T, error)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := coroutine.Recovered(recover()); v != nil {
			f.Fail(&coroutine.PanicError{Value: v, Stack: debug.Stack()})
			return
		}
		f.Fail(goexit(coroutine.ErrGoexit))
	}()
	v, err := fn()
	returned = true
	f.complete(v, err)
}

// goexit returns the error of a coroutine that ends by runtime.Goexit:
// ErrShutdown if the coroutine or its Scheduler is being stopped by force, else
// otherwise.
func goexit(otherwise error) error {
	if coroutine.Stopping() {
		return coroutine.ErrShutdown
	}
	return otherwise
}
