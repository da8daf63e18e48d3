package blocking

import (
	"context"

	"github.com/netco-go/netco/coroutine"
)

// shared is the pool of the package's functions.
var shared Pool

// Default returns the pool that the package's functions use, to set its limit
// and to read its Stats.
func Default() *Pool { return &shared }

// Do runs fn on the default pool and returns nil when fn has ended. It returns
// ctx.Err() when ctx is done before that, and netco.ErrShutdown when the
// Scheduler ends by force: then fn is never started, or it is abandoned, see
// the package documentation. Parks a coroutine; an ordinary goroutine runs fn
// in place, if ctx is not done. It does not allocate below the pool's limit if
// ctx is never done.
func Do(ctx context.Context, fn func()) error { return shared.Do(ctx, fn) }

// Do is [Do] on this pool.
func (p *Pool) Do(ctx context.Context, fn func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if coroutine.Current() == nil {
		fn()
		return nil
	}
	return p.offload(ctx, fn)
}

// Call is Do for a function with results. The error is fn's or Do's; with an
// error of Do the result is zero.
func Call[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	var result struct { // fn's until it has ended
		value T
		err   error
	}
	if err := Do(ctx, func() { result.value, result.err = fn() }); err != nil {
		var none T
		return none, err
	}
	return result.value, result.err
}
