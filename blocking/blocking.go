package blocking

import (
	"context"

	"github.com/netco-go/netco/coroutine"
)

// shared is the pool of the package's functions.
var shared Pool

// Default returns the pool that the package's functions use. Its limit is
// DefaultLimit unless it is given another.
func Default() *Pool { return &shared }

// SetLimit sets how many functions the default pool runs at once: see
// [Pool.SetLimit].
func SetLimit(n int) error { return shared.SetLimit(n) }

// Do runs fn on the default pool and returns nil when it has ended, or
// coroutine.ErrShutdown when the scheduler ends by force before that: see the
// package's documentation for what then becomes of fn. Parks a coroutine; a
// goroutine runs fn in place. It does not allocate once there is a worker.
func Do(fn func()) error { return shared.Do(fn) }

// DoContext is Do that also returns when ctx is done, with ctx.Err(). If that
// is before fn was started, fn never is; else fn is abandoned: it has ctx, and
// should end. On an ordinary goroutine fn is run in place, if ctx is not done,
// and waited for. Two allocations if ctx can be done, else none.
func DoContext(ctx context.Context, fn func(context.Context)) error {
	return shared.DoContext(ctx, fn)
}

// Call is Do for a function with results. The error is fn's, or
// coroutine.ErrShutdown as of Do. One allocation.
func Call[T any](fn func() (T, error)) (T, error) { return CallOn(&shared, fn) }

// CallContext is DoContext for a function with results. The error is fn's, or
// as of DoContext.
func CallContext[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	return CallContextOn(ctx, &shared, fn)
}

// Do is [Do] on this pool.
func (p *Pool) Do(fn func()) error {
	co := coroutine.Current()
	if co == nil {
		fn()
		return nil
	}
	return p.offload(co, nil, plain(fn))
}

// DoContext is [DoContext] on this pool.
func (p *Pool) DoContext(ctx context.Context, fn func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	co := coroutine.Current()
	if co == nil {
		fn(ctx)
		return nil
	}
	return p.offload(co, ctx, withContext(fn))
}

// CallOn is [Call] on a pool of one's own.
func CallOn[T any](p *Pool, fn func() (T, error)) (T, error) {
	co := coroutine.Current()
	if co == nil {
		return fn()
	}
	r := &withResult[T]{plain: fn}
	return r.results(p.offload(co, nil, r))
}

// CallContextOn is [CallContext] on a pool of one's own.
func CallContextOn[T any](ctx context.Context, p *Pool, fn func(context.Context) (T, error)) (T,
	error) {
	if err := ctx.Err(); err != nil {
		var none T
		return none, err
	}
	co := coroutine.Current()
	if co == nil {
		return fn(ctx)
	}
	r := &withResult[T]{fn: fn}
	return r.results(p.offload(co, ctx, r))
}

// task is what a worker runs. The kinds of it are as large as a pointer, so
// that making one does not allocate.
type task interface{ run(ctx context.Context) }

type (
	plain       func()
	withContext func(context.Context)
)

func (fn plain) run(context.Context)           { fn() }
func (fn withContext) run(ctx context.Context) { fn(ctx) }

// withResult is one of two functions, and its results. The caller must not read
// them before the function has ended.
type withResult[T any] struct {
	plain func() (T, error)
	fn    func(context.Context) (T, error)
	value T
	err   error
}

func (r *withResult[T]) run(ctx context.Context) {
	if r.plain != nil {
		r.value, r.err = r.plain()
	} else {
		r.value, r.err = r.fn(ctx)
	}
}

// results returns the results, unless the call was abandoned: then they still
// belong to the function.
func (r *withResult[T]) results(err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return r.value, r.err
}
