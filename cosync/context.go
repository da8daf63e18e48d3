package cosync

import (
	"context"

	"github.com/netco-go/netco/coroutine"
)

// Wait waits until ctx ends and returns ctx.Err(): what a receive from ctx.Done() is for a goroutine, without holding up the
// Processor. A coroutine parks, a goroutine blocks. When the scheduler ends by force before that, it returns coroutine.ErrShutdown, also for
// a context that never ends. It allocates when it parks.
func Wait(ctx context.Context) error {
	b := coroutine.During(ctx)
	w := coroutine.AcquireWaiter()
	defer w.Release()
	for {
		why := b.Over()
		if why == coroutine.WakeReady {
			why = w.ParkBound(coroutine.ReasonContext, b)
		}
		if why != coroutine.WakeReady { // else it was early
			return b.Err(why)
		}
	}
}
