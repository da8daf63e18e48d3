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

// Place returns the least loaded active Processor of the group, or of all if that
// has a burst of starts before it. The caller's own is preferred unless another
// has at least two coroutines fewer. Among more than 16 members, four that rotate
// are compared.
func (g *Group) Place(self *Processor) *Processor {
	best := g.least(self, (*Processor).IsActive)
	if best == nil || best.sub.waiting.Load() >= burstStarts {
		best = g.least(self, func(*Processor) bool { return true })
	}
	return best
}

// least returns the least loaded of those that may be taken, or nil.
func (g *Group) least(self *Processor, may func(*Processor) bool) (best *Processor) {
	n, first, looks := len(g.members), 0, len(g.members)
	if n > exact {
		looks = 4
		first = int(g.turns.Add(uint32(looks))) % n
	}
	least := 0
	if self != nil && may(self) {
		best, least = self, self.load()-1
	}
	for i := range looks {
		p := g.members[(first+i)%n]
		if l := p.load(); may(p) && (best == nil || l < least) {
			best, least = p, l
		}
	}
	return best
}

// Spawn makes a coroutine that runs on this Processor. Owner only.
func (p *Processor) Spawn(fn func(), name string, site uintptr) coroutine.Handle {
	p.group.takePermit()
	return p.spawn(fn, name, site)
}

// spawn is Spawn of a coroutine that has its permit.
func (p *Processor) spawn(fn func(), name string, site uintptr) coroutine.Handle {
	var co *coroutine.Coroutine
	if coroutine.MakingMayPanic() {
		defer p.group.releaseUnmade(&co)
	}
	co = p.ex.Spawn(fn, name, site) // the caller lives here, so the token is held
	co.Pin()
	return co.Handle()
}

// Submit gives a new coroutine to this Processor, from any thread; self is the caller's Processor or nil, pinned says that
// the coroutine may not be stolen. It returns the zero Handle if the Processor has ended.
func (p *Processor) Submit(self *Processor, fn func(), name string, site uintptr, pinned bool) coroutine.Handle {
	p.group.takePermit()
	return p.submit(self, fn, name, site, pinned)
}

// submit is Submit of a coroutine that has its permit.
func (p *Processor) submit(self *Processor, fn func(), name string, site uintptr, pinned bool) coroutine.Handle {
	s := submission{}
	if coroutine.MakingMayPanic() {
		defer p.group.releaseUnmade(&s.co)
	}
	if self == p {
		s.co = p.ex.Make(fn, name, site)
	} else {
		s.co = coroutine.Unadopted(fn, name, site)
		s.token = true
		p.group.takeToken()
	}
	h := s.co.Handle()
	p.sub.mu.Lock()
	if p.sub.closed {
		p.sub.mu.Unlock()
		p.group.giveToken() // a caller who lives elsewhere has taken one
		p.group.releasePermit()
		s.co.Discard()
		return coroutine.Handle{}
	}
	if pinned {
		s.co.Pin()
		p.sub.pinned = add(p.sub.pinned, s)
	} else {
		p.sub.open = add(p.sub.open, s)
		p.sub.offered.Add(1)
	}
	open := len(p.sub.open)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	if self != p {
		p.ex.RequestPreempt()
	}
	if !p.ep.Ring() && (open > 1 || open == 1 && self != p && p.heldUp(clock.Now())) {
		p.callThief() // it is busy and has more than it can start at once, or is held up
	}
	return h
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
		case !p.holding:
			p.holding = true
			p.group.takeToken()
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
