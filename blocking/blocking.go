package blocking

import (
	"context"

	"github.com/netco-go/netco/coroutine"
)

// shared is the pool of the package's functions.
var shared Pool

// Default returns the pool that the package's functions use. It is for setting
// its limit, and for its figures.
func Default() *Pool { return &shared }

// Do runs fn on the default pool and returns nil when it has ended. It returns
// ctx.Err() when ctx is done before that, and netco.ErrShutdown when the
// scheduler ends by force: then fn is never started, or it is abandoned, see
// the package's documentation. context.Background() is no limit. Parks a
// coroutine; an ordinary goroutine runs fn in place, if ctx is not done. Once
// there is a worker it does not allocate, but for two allocations if ctx can be
// done.
func Do(ctx context.Context, fn func()) error { return shared.Do(ctx, fn) }

// Call is Do for a function with results. The error is fn's, or as of Do; then
// the result is zero. One allocation more.
func Call[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	return callOn(ctx, &shared, fn)
}

// Do is [Do] on this pool.
func (p *Pool) Do(ctx context.Context, fn func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	co := coroutine.Current()
	if co == nil {
		fn()
		return nil
	}
	return p.offload(co, ctx, plain(fn))
}

func callOn[T any](ctx context.Context, p *Pool, fn func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	co := coroutine.Current()
	if co == nil {
		return fn()
	}
	r := &withResult[T]{fn: fn}
	if err := p.offload(co, ctx, r); err != nil {
		return none, err // what is in r still belongs to fn
	}
	return r.value, r.err
}

// task is what a worker runs. Both kinds of it are as large as a pointer, so
// that making one does not allocate.
type task interface{ run() }

type plain func()

func (fn plain) run() { fn() }

// withResult is a function and its results. The caller must not read them
// before the function has ended.
type withResult[T any] struct {
	fn    func() (T, error)
	value T
	err   error
}

func (r *withResult[T]) run() { r.value, r.err = r.fn() }
