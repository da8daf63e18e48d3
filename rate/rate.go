// Package rate is golang.org/x/time/rate for coroutines, name for name: a
// Limiter whose Wait parks a coroutine.
//
//	import "golang.org/x/time/rate"            // before
//	import "github.com/netco-go/netco/rate"    // after
//
//	limiter := rate.NewLimiter(rate.Every(10*time.Millisecond), 5)
//	...
//	err := limiter.Wait(ctx)
//
// Everything but Wait and WaitN is x/time's own code, which blocks for some
// instructions at most. On a goroutine these are x/time's, too.
//
// # What differs
//
// For functions that take a Limiter of x/time, [Limiter] has one in its field,
// whose Wait blocks. A forced shutdown ends Wait with netco.ErrShutdown. Where
// waiting would exceed the context's deadline, a coroutine reserves the events
// and gives them back at once; what reserves at the same moment may wait longer
// than it had to. A Sometimes holds a sync.Mutex while its function runs: let
// that not wait.
package rate

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// Limit is the number of events per second; Inf is no limit.
type Limit = rate.Limit

// Limits and durations without an end.
const (
	Inf         = rate.Inf
	InfDuration = rate.InfDuration // the delay of a Reservation that is not OK
)

// Every returns the Limit that allows one event in each interval.
func Every(interval time.Duration) Limit { return rate.Every(interval) }

// Reservation is permission for events after a delay: see Limiter.ReserveN.
type Reservation = rate.Reservation

// Sometimes calls a function now and then: the First times, each Every-th time,
// and when Interval has passed.
type Sometimes = rate.Sometimes

// Limiter allows events at a rate, and bursts of a size: a bucket of as many
// tokens, filled at that rate. The zero Limiter allows none. Any coroutines and
// goroutines may use one; it must not be copied. Its methods are x/time's:
//
//	Allow() bool                            whether an event may happen now
//	AllowN(t time.Time, n int) bool         whether n may, at t
//	Reserve() *Reservation                  permission to come
//	ReserveN(t time.Time, n int) *Reservation
//	Wait(ctx) error, WaitN(ctx, n) error    see below
//	Limit() Limit, Burst() int              the rate and the size
//	SetLimit, SetLimitAt, SetBurst, SetBurstAt
//	Tokens() float64, TokensAt(t) float64   how many there are
type Limiter struct{ rate.Limiter }

// NewLimiter returns a Limiter of rate r that allows bursts of b events.
func NewLimiter(r Limit, b int) *Limiter {
	l := new(Limiter)
	// x/time's constructor returns what must not be copied. This fills the
	// bucket: the burst is set while nothing fills it, and the rate after an
	// instant at rate Inf.
	var start time.Time
	l.SetBurstAt(start, b)
	l.SetLimitAt(start, Inf)
	l.SetLimitAt(start.Add(1), r)
	return l
}

// Wait is WaitN for one event.
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN waits until n events may happen. It returns an error at once if n
// exceeds the burst size, unless the rate is Inf, or if it would have to wait
// beyond ctx's deadline; and ctx's error when that is done first. Then no
// events have been taken. A coroutine parks, a goroutine blocks. It allocates
// if ctx can be done.
func (l *Limiter) WaitN(ctx context.Context, n int) error {
	if coroutine.Current() == nil {
		return l.Limiter.WaitN(ctx, n)
	}
	if burst := l.Burst(); n > burst && l.Limit() != Inf {
		return fmt.Errorf("rate: Wait(n=%d) exceeds limiter's burst %d", n, burst)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	r := l.ReserveN(now, n)
	if !r.OK() { // the burst has been set meanwhile
		return fmt.Errorf("rate: Wait(n=%d) exceeds limiter's burst %d", n, l.Burst())
	}
	delay := r.DelayFrom(now)
	if deadline, ok := ctx.Deadline(); ok && delay > deadline.Sub(now) {
		r.CancelAt(now)
		return fmt.Errorf("rate: Wait(n=%d) would exceed context deadline", n)
	}
	if delay == 0 {
		return nil
	}
	return pause(ctx, delay, r)
}

// pause waits until r may be used.
func pause(ctx context.Context, delay time.Duration, r *Reservation) error {
	limit := coroutine.Timeout(delay)
	if ctx.Done() != nil {
		limit = coroutine.Context(ctx)
		if until := clock.Now() + int64(delay); until > 0 { // else it is centuries away
			limit = limit.Earlier(until)
		}
	}
	why := waitq.Block(coroutine.ReasonSleep, limit)
	if why == coroutine.WakeTimeout {
		return nil
	}
	r.Cancel()
	return limit.Err(why)
}
