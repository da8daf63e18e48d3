package processor

import (
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/timer"
)

// sleeper is a coroutine's timer while it is parked with a deadline. Owner; from the Processor's pool, so that coroutines
// that never wait for time do not carry one.
type sleeper struct {
	timer  timer.Timer
	ex     *coroutine.Executor
	co     *coroutine.Coroutine
	ticket uint64
}

// expired is the sleepers' timer function.
func expired(arg any, now int64) {
	s := arg.(*sleeper)
	s.ex.Ready(s.co, s.ticket, coroutine.WakeTimeout)
}

// ParkUntil implements coroutine.Host: Park, but for no longer than until deadline. Owner only.
func (p *Processor) ParkUntil(co *coroutine.Coroutine, reason coroutine.Reason, deadline int64) coroutine.Wake {
	s := p.sleepers.Get()
	if s.timer.F == nil {
		s.timer.F, s.timer.Arg, s.ex = expired, s, &p.ex
	}
	s.co, s.ticket = co, co.Ticket()
	p.timers.Set(&s.timer, deadline)
	wake := co.Park(reason)
	p.timers.Cancel(&s.timer)
	s.co = nil
	p.sleepers.Put(s)
	return wake
}

// Sleep parks the calling coroutine for d, or blocks an ordinary goroutine. With d <= 0 it yields. When the scheduler ends
// by force it does not return: the coroutine's deferred calls run and it ends.
func Sleep(d time.Duration) {
	co := coroutine.Current()
	if co == nil {
		time.Sleep(d)
		return
	}
	if d <= 0 {
		coroutine.Yield()
		return
	}
	ex := co.Executor()
	start := clock.Now()
	deadline := start + int64(d)
	if deadline < start {
		deadline = 1<<63 - 1
	}
	for {
		switch ex.Host().ParkUntil(co, coroutine.ReasonSleep, deadline) {
		case coroutine.WakeShutdown:
			coroutine.Unwind()
		case coroutine.WakeTimeout:
			return
		}
	}
}
