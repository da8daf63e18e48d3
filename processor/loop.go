package processor

import (
	"runtime"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
)

// A turn's budget. The time keeps I/O and timers from waiting long behind
// coroutines that compute; the count saves a turn of short runs from reading
// the clock.
const (
	turnResumes = 256
	turnNs      = 500_000
	turnTimers  = 1024 // expiries per turn, less the ready coroutines, see expire
	turnStarts  = 16   // submissions that become ready per turn; the rest can still be stolen
)

// yieldNs is how often the loop passes through Go's scheduler. A goroutine that
// has not done so for 10 ms is preempted by a signal, and loses its P in its
// next system call.
const yieldNs = 5_000_000

// globalYields is how many yields there are for one behind Go's global queue.
// A P that only passes through its own queue takes from the global queue once
// in 61 times, which is 300 ms.
const globalYields = 2

// trimNs is how long a goroutine has to be idle before it is ended. A Processor
// that sleeps ends none.
const trimNs = 1_000_000_000

// yield passes through Go's scheduler, behind its global queue or only behind
// that of the P. Tests replace it.
var yield = func(global bool) {
	if global {
		runtime.Gosched()
	} else {
		goruntime.Yield()
	}
}

// workedAlone reports whether no other thread has worked for coroutines of p
// since the last call with helped. Otherwise goroutines may block in system
// calls and keep their Ps; the signals of preemption make the runtime look for
// such Ps. Owner.
func (p *Processor) workedAlone(helped *uint64) bool {
	before := *helped
	*helped = p.posted.Load() + p.ex.Stats.Handoffs.Own()
	return *helped == before
}

// loop runs turns until the group has stopped and nothing lives here.
func (p *Processor) loop() {
	for polled, found := false, 0; ; { // idle has polled, and left found coroutines ready
		now := clock.Now()
		if p.ran > 0 {
			length := now - int64(p.Stats.TurnStart.Own())
			p.Stats.TurnNs.Observe(length)
			p.history.note(now, length)
			p.noteRuns(length, p.noteWaits(length, p.ran), p.ran)
			p.ran = 0
			if now-int64(p.yielded.Own()) > yieldNs {
				p.yielded.Set(uint64(now))
				if p.workedAlone(&p.helped) {
					p.yields++
					yield(p.yields%globalYields == 0)
				}
				if now-p.trimmed > trimNs {
					p.trimmed = now
					p.ex.Trim()
				}
				now = clock.Now()
			}
		}
		p.Stats.Turns.Inc()
		p.Stats.TurnStart.Set(uint64(now))
		p.ex.SetClock(now)
		if p.turnWanted.Load() {
			p.turnWanted.Store(false) // first: turn checks why the turn was wanted
		}
		if p.turn != nil && !p.ex.Call(p.turn) {
			p.turn = nil
			if p.group.Phase() != p.phase && p.advance() { // before a timer makes a coroutine ready
				return
			}
		}
		if p.timers.Len() > 0 {
			p.expire(now)
		}
		p.ex.ClearPreempt() // before the inboxes are checked
		if !p.wakes.Empty() {
			p.takeInbox()
		}
		if !p.retimed.funcs.Empty() {
			p.retime()
		}
		if p.returned.any.Load() {
			p.takeReturned()
		}
		if p.sub.waiting.Load() != 0 {
			p.adopt(turnStarts)
		}
		if p.moveRequest.Load() != nil {
			p.moveWork()
		}
		if p.woken.starved.Load() {
			p.woken.want(p)
		}
		if !p.buffers.queue.Empty() {
			p.lendMore()
		}
		if p.group.Phase() != p.phase && p.advance() {
			return
		}
		p.Stats.Queued.Set(uint64(p.ex.Queued()))
		p.Stats.Timers.Set(uint64(p.timers.Len()))
		if p.ex.Queued() == 0 {
			p.releaseToken()
			p.waits = waits{}
			polled = p.idle(now)
			found = p.ex.Queued()
			continue
		}
		sharing := p.group.sharing.Load()
		before := p.ex.Queued() // ready without an event
		if polled {
			polled = false
			before -= found
		} else if p.ep.Registered() > 0 {
			n := p.ep.Poll()
			p.dispatch(n)
			if sharing {
				p.callOthers(n)
			}
		}
		if sharing {
			p.keepApart(now)
		}
		p.waits.queued = p.ex.Queued()
		if p.runs.offers(p.waits.queued, before, sharing) {
			p.offer()
		}
		if p.runs.readsCPU {
			p.ran = p.runTimed(turnResumes, now+turnNs)
		} else {
			p.ran = p.ex.Run(turnResumes, now+turnNs)
		}
	}
}

// releaseToken returns the token once no coroutine lives here.
func (p *Processor) releaseToken() {
	if p.holding && p.nothingLives() && p.watches.Own() == 0 {
		p.holding = false
		p.ex.SeeEnds() // Run returns after all of them
		p.group.giveToken()
	}
}

// takeInbox makes the coroutines ready that other threads have woken.
func (p *Processor) takeInbox() {
	for n := p.wakes.Take(); n != nil; {
		co := n.Value
		n = n.Next() // before Arrive: from then on the node may be queued again
		p.Stats.RemoteWakes.Inc()
		p.ex.Arrive(co)
	}
}

// expire runs the timers that are due. If a million are due at once most stay
// in the heap: in the run queue their coroutines would precede the coroutines
// that I/O makes ready. (An echo beside 600,000 sleepers takes up to 54 ms, not
// 345.) But a turn expires at least as many timers as it can run coroutines, so
// that a long run queue cannot keep timers from firing.
func (p *Processor) expire(now int64) {
	if n := p.timers.Expire(now, max(turnTimers-p.ex.Queued(), turnResumes)); n > 0 {
		p.Stats.TimersFired.Add(uint64(n))
	}
}

// dispatch acts on n events. With many connections their PollDescs and
// coroutines are not in the cache: it prefetches the PollDesc four events
// ahead, and the waiter two events ahead.
func (p *Processor) dispatch(n int) {
	var ahead [4]*PollDesc // of the events i+1 to i+4, by index modulo 4
	for i := range n {
		if i+4 < n {
			if pd := p.ep.PrefetchTarget(i + 4); pd != nil {
				pd.prefetch()
				ahead[i%4] = pd
			}
			if pd := ahead[(i+2)%4]; pd != nil {
				pd.prefetchWaiter()
			}
		}
		if pd, events := p.ep.Event(i); pd != nil {
			if p.runs.shared && !pd.Shared() {
				p.homeEvents = true
			}
			pd.onEvent(p, events)
		}
	}
}

// advance follows the group into its next phase; true means that the loop has
// ended.
func (p *Processor) advance() (over bool) {
	to := p.group.Phase()
	if p.phase < Draining && to >= Draining {
		p.ep.Each((*PollDesc).unblock)
	}
	if p.phase < Stopping && to >= Stopping {
		p.ex.Stop()
	}
	if to >= Stopped {
		// The Processor stays in the earlier phase until nothing lives here, so
		// that every turn checks for that.
		p.phase = Stopping
		if p.nothingLives() && p.ex.Suspended() {
			// Run the deferred calls of coroutines driven by hand.
			p.group.Go(p, p, internalSpawn(p.ex.ReapAll))
		}
		return !p.shared.any() && p.nothingLives() && !p.keepsToken() && p.closeSubmissions()
	}
	p.phase = to
	return false
}

// nothingLives reports whether no coroutine lives here or is about to live
// here.
func (p *Processor) nothingLives() bool {
	return p.ex.Stats.Live.Own() == 0 && p.sub.waiting.Load() == 0
}

// keepsToken reports whether the token is still needed; if not, it returns the
// token.
func (p *Processor) keepsToken() bool {
	p.releaseToken()
	return p.holding
}

// Post implements coroutine.Host.
func (p *Processor) Post(co *coroutine.Coroutine) {
	p.posted.Add(1)
	p.wakes.Push(co.Node())
	p.ex.RequestPreempt()
	p.ep.Ring()
}
