package processor

import "github.com/netco-go/netco/internal/clock"

// idle finds work elsewhere, or waits for work. It reports whether it polled
// for I/O last.
func (p *Processor) idle(now int64) (polled bool) {
	if p.steal(now) {
		return false
	}
	if p.group.sharing.Load() && !p.polled && p.pollOthers() {
		return false
	}
	deadline, timed := p.timers.Next()
	if timed && deadline <= now {
		return false
	}
	if p.spin.begin(p.group) {
		found := p.spinUntil(now, deadline, timed)
		p.spin.end(p.group)
		if found {
			return true
		}
	}
	now = clock.Now()
	if timed && deadline-now < armCostNs {
		// Arming the timerfd costs more than the wait.
		p.dispatch(p.ep.Poll())
		return true
	}
	return p.sleep(now, deadline, timed)
}

// armCostNs is about the cost of timerfd_settime for a near time: the kernel
// reprograms the hardware timer.
const armCostNs = 15_000

// sleep blocks in epoll until an event, a ring or the deadline. It reports
// false if there was work instead.
func (p *Processor) sleep(now, deadline int64, timed bool) bool {
	p.ex.Rest()
	p.ep.Asleep()
	if p.hasWork() {
		p.ep.Awake()
		return false
	}
	// A submitter rings a stealer only if the stealer is asleep. So a stealer
	// checks once more after it has announced its sleep. Submissions that it
	// must leave to their owner may become stealable once the owner is stalled.
	switch offered, mine := p.hasStealable(now); {
	case mine:
		p.ep.Awake()
		return false
	case offered && (!timed || deadline > now+stalledNs):
		deadline, timed = now+stalledNs, true
	}
	if timed {
		if err := p.timerFD.Arm(deadline, now); err != nil {
			panic("netco/processor: " + err.Error())
		}
	}
	p.Stats.Sleeps.Inc()
	p.time.asleep(now)
	n := p.wait()
	p.ep.Awake()
	p.polled = p.polled && n == 0 // a ring may be a call, see callOthers
	woke := clock.Now()
	p.Stats.TurnStart.Set(uint64(woke)) // first: a sleep is no stall
	p.time.awake(woke)
	p.group.resumeWatchers() // after Awake
	p.spin.slept(woke-now, p.first(n))
	p.ex.SetClock(woke)
	p.dispatch(n)
	return true
}

// wait waits in epoll.
func (p *Processor) wait() int {
	if p.givesUpP() {
		return p.ep.WaitLong()
	}
	return p.ep.Wait()
}

// givesUpP reports whether the loop is to give up its P before it waits: if
// that is the only one, or one of two, and goroutines work beside it. A
// thread in a system call keeps its P, with the goroutines and timers there,
// until the runtime takes it, up to 10 ms later if no P is idle. The second of
// two may be the goroutine poller's, in the same call.
func (p *Processor) givesUpP() bool {
	return p.fewPs && currentPoller.Load() != nil || p.onlyP && !p.workedAlone(&p.waitHelped)
}

// hasWork reports whether another thread has sent something.
func (p *Processor) hasWork() bool {
	return p.turnWanted.Load() || p.moveRequest.Load() != nil || !p.wakes.Empty() ||
		p.sub.waiting.Load() != 0 || !p.retimed.funcs.Empty() || p.advances()
}

// advances reports whether advance has something to do. In the phase Stopped
// advance has nothing to do as long as a coroutine lives; the loop sees the
// coroutine's end itself.
func (p *Processor) advances() bool {
	return p.group.Phase() != p.phase &&
		(p.phase < Stopping || p.ex.Stats.Live.Own() == 0 && !p.shared.any())
}

// spinUntil polls for work without sleeping, for at most spinNs and not beyond
// the deadline.
func (p *Processor) spinUntil(now, deadline int64, timed bool) (found bool) {
	start, last := now, now
	for {
		if n := p.ep.Poll(); n > 0 {
			p.spin.paid(p.first(n))
			p.dispatch(n)
			return true
		}
		if p.hasWork() {
			p.spin.paid(nil)
			return true
		}
		now = clock.Now()
		p.Stats.SpinNs.Add(uint64(now - last))
		if held := now - last; held > interruptNs {
			p.spin.interrupted(held, now)
			return false
		}
		last = now
		if timed && now >= deadline {
			return true
		}
		if now-start > spinNs {
			p.spin.wasted()
			return false
		}
	}
}

// first returns the fd of the first of n events, for its identity only, or nil
// if the event has no fd. Unlike Event, it does not count the event.
func (p *Processor) first(n int) *PollDesc {
	if n == 0 {
		return nil
	}
	return p.ep.PrefetchTarget(0)
}
