package processor

import (
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/timer"
)

// expired is the function of the timers that end parks; its argument is the
// coroutine. A park cancels its timer before the coroutine can park again, so a
// parked coroutine is in the park that the timer belongs to.
func expired(arg any, _ int64) {
	co := arg.(*coroutine.Coroutine)
	if co.State() == coroutine.Waiting {
		co.Executor().MakeReady(co, co.Ticket(), coroutine.WakeTimeout)
	}
}

// ParkUntil implements coroutine.Host: it is Park, but not beyond deadline.
// Owner only. The timer comes from the Processor's pool, so that coroutines
// without timed waits need none.
//
// The coroutine does not move meanwhile, since it moves only by its own call.
func (p *Processor) ParkUntil(
	co *coroutine.Coroutine, reason coroutine.Reason, deadline int64,
) coroutine.Wake {
	t := p.setTimer(expired, co, deadline)
	wake := co.Park(reason)
	p.dropTimer(t)
	return wake
}

// setTimer makes a timer of p's pool call f(arg) at deadline. Owner.
func (p *Processor) setTimer(f func(any, int64), arg any, deadline int64) *timer.Timer {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	t := p.sleepers.Get()
	t.F, t.Arg = f, arg
	p.timers.Set(t, deadline)
	return t
}

// dropTimer returns a timer that setTimer has set. Owner.
func (p *Processor) dropTimer(t *timer.Timer) {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	p.timers.Cancel(t)
	t.Arg = nil
	p.sleepers.Put(t)
}

// Sleep parks the calling coroutine for d, or blocks an ordinary goroutine.
// With d <= 0 it yields. When the Scheduler ends by force it does not return:
// the coroutine's deferred calls run and it ends.
func Sleep(d time.Duration) {
	if d <= 0 {
		coroutine.Yield()
		return
	}
	co := coroutine.Current()
	if co == nil {
		time.Sleep(d)
		return
	}
	deadline := clock.After(d)
	for {
		switch co.Executor().Host().ParkUntil(co, coroutine.ReasonSleep, deadline) {
		case coroutine.WakeShutdown:
			coroutine.Unwind()
		case coroutine.WakeTimeout:
			co.MoveOn()
			return
		}
	}
}
