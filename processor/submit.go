package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// submissions are coroutines that have been given to a Processor and not started. Those from Go are open: any Processor
// of the group may take them. Those from GoOn are pinned to this one.
//
//	submitted → adopted by its owner, or stolen by another, either of which makes it ready there
type submissions struct {
	waiting atomic.Int32 // how many, of all kinds; may be read without mu
	offered atomic.Int32 // how many in open; may be read without mu

	mu      inside.Mutex
	open    []submission           // FIFO; under mu
	pinned  []submission           // FIFO; under mu
	watches []arrival              // that are woken, new, or have moved; under mu
	moved   []*coroutine.Coroutine // that have moved here; under mu
	coming  int                    // are about to be among the latter two, see Reserve; under mu
	closed  bool                   // the loop is over, nothing is adopted any more; under mu
}

type submission struct {
	co    *coroutine.Coroutine
	token bool // carries one of the group's tokens
}

// exact is how many Processors are all looked at to find the least loaded.
const exact = 16

// load is what placement goes by: coroutines that live here or are on their way.
func (p *Processor) load() int {
	return int(p.ex.Stats.Live.Load()) + int(p.sub.waiting.Load())
}

// place returns the least loaded active Processor of the group, or of all if that
// has a burst of starts before it. The caller's own is preferred unless another
// has at least two coroutines fewer. Among more than 16 members, four that rotate
// are compared.
func (g *Group) place(here *Processor) *Processor {
	best := g.least(here, false)
	if best == nil || best.sub.waiting.Load() >= burstStarts {
		best = g.least(here, true)
	}
	return best
}

// least returns the least loaded of all members or of the active ones, nil
// without one.
func (g *Group) least(here *Processor, all bool) (best *Processor) {
	members := g.members
	next, looks := 0, len(members)
	if looks > exact {
		looks = 4
		next = int(g.turns.Add(uint32(looks)) % uint32(len(members)))
	}
	least := 0
	if here != nil && (all || here.active.Load()) {
		best, least = here, here.load()-1
	}
	for ; looks > 0; looks-- {
		p := members[next]
		if next++; next == len(members) {
			next = 0
		}
		if p == best || !all && !p.active.Load() {
			continue
		}
		if l := p.load(); best == nil || l < least {
			best, least = p, l
		}
	}
	return best
}

// closeSubmissions refuses submissions from now on; false means that some are waiting, or coming.
func (p *Processor) closeSubmissions() bool {
	p.sub.mu.Lock()
	defer p.sub.mu.Unlock()
	if p.sub.waiting.Load() != 0 || p.sub.coming != 0 {
		return false
	}
	p.sub.closed = true
	return true
}

// submit queues a new coroutine at p for a caller on Processor here, or nil. It
// returns false if p has ended.
func (p *Processor) submit(here *Processor, s submission, pinned bool) bool {
	p.sub.mu.Lock()
	if p.sub.closed {
		p.sub.mu.Unlock()
		return false
	}
	if pinned {
		p.sub.pinned = add(p.sub.pinned, s)
	} else {
		p.sub.open = add(p.sub.open, s)
		p.sub.offered.Add(1)
	}
	open := len(p.sub.open)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	if here != p {
		p.ex.RequestPreempt()
	}
	if !p.ep.Ring() && (open > 1 || open == 1 && here != p && p.heldUp(clock.Now())) {
		p.callThief() // it is busy and has more than it can start at once, or is held up
	}
	return true
}

// callThief wakes one sleeping Processor of the group, which will look for something to steal.
func (p *Processor) callThief() {
	for _, q := range p.group.members {
		if q != p && q.ep.Sleeping() && q.ep.Ring() {
			return
		}
	}
}

// adopt makes up to n submissions ready to run here, the pinned ones first.
func (p *Processor) adopt(n int) {
	p.sub.mu.Lock()
	var taken [turnStarts]submission
	k := take(&p.sub.pinned, taken[:n])
	pinned := k
	k += take(&p.sub.open, taken[k:n])
	p.welcomeLocked(taken[:k])
	p.sub.offered.Add(int32(pinned - k))
	arrived, moved := p.sub.watches, p.sub.moved
	p.sub.watches, p.sub.moved = nil, nil
	for _, co := range moved {
		p.takeOver()
		p.ex.Settle(co)
		p.Stats.Moved.Inc()
	}
	p.sub.waiting.Add(int32(-k - len(arrived) - len(moved)))
	p.sub.mu.Unlock()
	for _, a := range arrived {
		p.arrive(a)
	}
}

// add is append that doubles: by a quarter, as append grows what is long, a burst of a million would leave five times its size as garbage.
func add(q []submission, s submission) []submission {
	if n := len(q); n == cap(q) {
		q = append(make([]submission, 0, max(2*n, 16)), q...)
	}
	return append(q, s)
}

// take moves from the front of q into into and returns how many.
func take(q *[]submission, into []submission) int {
	n := copy(into, *q)
	clear((*q)[:n])
	if n == len(*q) {
		*q = (*q)[:0]
		if cap(*q) > 1024 {
			*q = nil
		}
	} else {
		*q = (*q)[n:]
	}
	return n
}

// welcomeLocked adopts coroutines taken from a queue whose mu is held. The queue's waiting is lowered after it, so that its
// Processor cannot conclude meanwhile that nothing is left anywhere.
func (p *Processor) welcomeLocked(taken []submission) {
	for _, s := range taken {
		switch {
		case s.token && p.holding:
			p.group.giveToken()
		case s.token:
			p.holding = true
		default:
			p.hold()
		}
		p.ex.Adopt(s.co)
	}
}

// steal takes coroutines that have not started from the Processor that has the most to give, see share.
func (p *Processor) steal(now int64) bool {
	var victim *Processor
	most := 0
	for _, q := range p.group.members {
		if q == p || q.sub.offered.Load() == 0 {
			continue
		}
		if n := p.share(q, now); n > most {
			victim, most = q, n
		}
	}
	return victim != nil && p.stealFrom(victim, most)
}

// offers reports whether another Processor has submissions that are open, and whether any of them is for this one to steal now.
func (p *Processor) offers(now int64) (any, mine bool) {
	for _, q := range p.group.members {
		if q != p && q.sub.offered.Load() != 0 {
			any = true
			mine = mine || p.share(q, now) > 0
		}
	}
	return any, mine
}

// stealFrom takes up to n of q's submissions that are open.
func (p *Processor) stealFrom(q *Processor, n int) bool {
	v := &q.sub
	v.mu.Lock()
	var taken [turnStarts]submission
	k := take(&v.open, taken[:min(n, turnStarts)])
	p.welcomeLocked(taken[:k])
	v.offered.Add(int32(-k))
	v.waiting.Add(int32(-k))
	v.mu.Unlock()
	if k == 0 {
		return false
	}
	p.Stats.Stolen.Add(uint64(k))
	return true
}

// share is how many of q's submissions are p's to take: no more than half, and no more than evens the two out. Coroutines stay
// where they start; without the second limit the Processor that is awake first would take a whole burst of those that soon
// wait for something, from others that are about to wake. It does not hold when q is held up by one that computes.
func (p *Processor) share(q *Processor, now int64) int {
	half := (int(q.sub.offered.Load()) + 1) / 2
	if q.heldUp(now) {
		return half
	}
	if !p.active.Load() && 2*half < burstStarts {
		return 0
	}
	return min(half, (q.load()-p.load())/2)
}

// heldUpNs is how long a turn lasts when a coroutine computes or blocks its thread, and not when another thread merely had the
// core for a time slice.
const heldUpNs = 10_000_000

// heldUp reports whether some coroutine has had p's thread for long. Any thread.
func (p *Processor) heldUp(now int64) bool {
	return p.ex.Current() != nil && now-int64(p.Stats.TurnStart.Load()) > heldUpNs
}
