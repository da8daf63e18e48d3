package limiters

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/netco-go/netco"
)

func wait(ctx context.Context, l *rate.Limiter) { // want wait:"time,time"
	l.Wait(ctx)     // want `rate.Limiter.Wait in a coroutine: .*; use Limiter.ReserveN, and netco.Sleep`
	l.WaitN(ctx, 2) // want `rate.Limiter.WaitN in a coroutine: .*; use Limiter.ReserveN, and netco.Sleep`
	netco.Sleep(l.ReserveN(time.Now(), 2).Delay())
}

func start(ctx context.Context) error {
	_, err := netco.Go(func() { wait(ctx, rate.NewLimiter(1, 1)) })
	return err
}
