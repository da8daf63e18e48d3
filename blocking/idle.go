package blocking

import "time"

// idlePeriod is half of the longest time that a worker stays idle.
const idlePeriod = 5 * time.Second

// CloseIdle ends the workers that have nothing to do now, instead of some
// seconds later. It does not wait for their ends. The pool can be used on.
func (p *Pool) CloseIdle() {
	p.mu.Lock()
	defer p.unlock()
	p.endIdleLocked(len(p.idle))
}

// endIdleLocked ends the n idle workers that were used least recently; n may be
// below 0.
func (p *Pool) endIdleLocked(n int) {
	if n <= 0 {
		return
	}
	for _, w := range p.idle[:n] {
		w.calls <- nil
	}
	rest := copy(p.idle, p.idle[n:])
	clear(p.idle[rest:])
	p.idle = p.idle[:rest]
	p.untouched = min(p.untouched, rest)
	p.workers -= n
}

// tick ends the workers that were idle since the tick before. These are the
// first of idle, which is used from the end: so it is enough to know how short
// the list was at its shortest, and no call has to look at the clock.
func (p *Pool) tick() {
	p.mu.Lock()
	defer p.unlock()
	p.endIdleLocked(p.untouched)
	p.untouched = len(p.idle)
	p.ticking = false
	if p.untouched > 0 {
		p.tickLocked()
	}
}

// tickLocked starts the timer for the next tick.
func (p *Pool) tickLocked() {
	switch {
	case p.ticking:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(idlePeriod, p.tick)
	default:
		p.timer.Reset(idlePeriod)
	}
	p.ticking = true
}
