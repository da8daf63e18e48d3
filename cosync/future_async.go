package cosync

import (
	"runtime/debug"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
)

// ErrGoexit is what a Future fails with whose function has called runtime.Goexit.
var ErrGoexit = coroutine.ErrGoexit

// PanicError is the error in the place of a function's result when it has panicked.
type PanicError = coroutine.PanicError

// Async starts f as a coroutine, where netco.Go would, and returns the Future of its result. The Future fails with f's error; with a
// [*PanicError] if f panics, which then does not reach Options.OnPanic; with coroutine.ErrShutdown if f was ended by force, or could
// not be started because the scheduler is ending; and with ErrGoexit. Does not park.
//
//go:noinline
func Async[T any](f func() (T, error)) *Future[T] {
	return async(f, asm.CallerPC())
}

func async[T any](f func() (T, error), site uintptr) *Future[T] {
	if f == nil {
		panic("cosync: Async of a nil func")
	}
	future := NewFuture[T]()
	if _, err := coroutine.Start(func() { future.run(f) }, "", site); err != nil {
		future.Fail(err)
	}
	return future
}

// run completes f with what fn returns, or with how else it ended.
func (f *Future[T]) run(fn func() (T, error)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := coroutine.Recovered(recover()); v != nil {
			f.Fail(&PanicError{Value: v, Stack: debug.Stack()})
			return
		}
		f.Fail(goexit(ErrGoexit))
	}()
	v, err := fn()
	returned = true
	f.complete(v, err)
}

// goexit returns the error of a coroutine that is being ended by runtime.Goexit: ErrShutdown if that is because it is to end by force,
// alone or with its scheduler, else otherwise.
func goexit(otherwise error) error {
	if coroutine.Stopping() {
		return coroutine.ErrShutdown
	}
	return otherwise
}
