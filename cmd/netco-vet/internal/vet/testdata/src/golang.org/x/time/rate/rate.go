// Package rate has the names that the tests need.
package rate

import (
	"context"
	"time"
)

type Limiter struct{}

type Reservation struct{}

func NewLimiter(r float64, b int) *Limiter                      { return nil }
func (l *Limiter) Wait(ctx context.Context) error               { return l.WaitN(ctx, 1) }
func (l *Limiter) ReserveN(t time.Time, n int) *Reservation     { return nil }
func (r *Reservation) Delay() time.Duration                     { return 0 }
func (l *Limiter) WaitN(ctx context.Context, n int) (err error) { <-ctx.Done(); return nil }
