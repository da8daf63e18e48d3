package sync

import (
	"context"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Wait waits until ctx is done and returns ctx.Err(). Unlike a receive from
// ctx.Done() it does not hold up the Processor. A coroutine parks, a goroutine
// blocks. At a forced shutdown it returns netco.ErrShutdown, also for a context
// that is never done, as nil is here. It allocates when it parks.
func Wait(ctx context.Context) error {
	limit := coroutine.Context(ctx)
	return limit.Err(waitq.Block(coroutine.ReasonContext, limit))
}
