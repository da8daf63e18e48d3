package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// submissions holds the work that other threads have sent to a Processor: new
// coroutines, woken Watches, and coroutines that have moved here. Another
// Processor may steal new coroutines, except for the pinned ones.
//
// A new coroutine becomes ready where the owner adopts it or another Processor
// steals it.
type submissions struct {
	waiting atomic.Int32 // the number of all submissions; read without mu
	offered atomic.Int32 // the length of stealable; read without mu

	mu        inside.Mutex
	stealable []submission           // FIFO; under mu
	pinned    []submission           // FIFO; under mu
	watches   []arrival              // FIFO; under mu
	moved     []*coroutine.Coroutine // started elsewhere, FIFO; under mu
	coming    int                    // coroutines moving here, see Reserve; under mu
	closed    bool                   // the loop has ended and adopts nothing; under mu
}

// submission is a new coroutine to be adopted.
type submission struct {
	co    *coroutine.Coroutine
	token bool // the submission carries one of the group's tokens
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
		p.sub.pinned = enqueue(p.sub.pinned, s)
	} else {
		p.sub.stealable = enqueue(p.sub.stealable, s)
		p.sub.offered.Add(1)
	}
	stealable := len(p.sub.stealable)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	if here != p {
		p.ex.RequestPreempt()
	}
	if !p.ep.Ring() && (stealable > 1 || stealable == 1 && (p.group.sharing.Load() ||
		here != p && p.stalled(clock.Now()))) {
		p.wakeStealer() // p is too busy, or has been busy for too long, for the start to wait
	}
	return true
}

// wakeStealer wakes one sleeping Processor of the group, which then tries to
// steal. An inactive Processor may leave a few submissions to others for up to
// stalledNs, so it is woken only if no active one sleeps.
func (p *Processor) wakeStealer() {
	for _, active := range []bool{true, false} {
		for _, q := range p.group.members {
			if q != p && q.active.Load() == active && q.ep.Sleeping() && q.ep.Ring() {
				return
			}
		}
	}
}

// adopt makes up to n new coroutines ready here, the pinned ones first, and
// takes the Watches and coroutines that have moved here.
func (p *Processor) adopt(n int) {
	p.sub.mu.Lock()
	var taken [turnStarts]submission
	k := dequeue(&p.sub.pinned, taken[:n])
	pinned := k
	k += dequeue(&p.sub.stealable, taken[k:n])
	for _, s := range taken[:k] {
		p.claim(s)
		p.ex.Adopt(s.co)
	}
	p.sub.offered.Add(int32(pinned - k))
	arrived, moved := p.sub.watches, p.sub.moved
	p.sub.watches, p.sub.moved = nil, nil
	for _, co := range moved {
		p.takeOverToken()
		p.ex.Settle(co)
		p.Stats.Moved.Inc()
	}
	p.sub.waiting.Add(int32(-k - len(arrived) - len(moved)))
	p.sub.mu.Unlock()
	for _, a := range arrived {
		p.arrive(a)
	}
}

// enqueue is append, but doubles the slice. append grows a long slice by a
// quarter: a burst of a million would leave five times its size as garbage.
func enqueue(q []submission, s submission) []submission {
	if n := len(q); n == cap(q) {
		q = append(make([]submission, 0, max(2*n, 16)), q...)
	}
	return append(q, s)
}

// dequeue moves the front of q to to and returns how many it has moved.
func dequeue(q *[]submission, to []submission) int {
	n := copy(to, *q)
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

// claim settles the token of a submission that is about to be adopted here. The
// caller lowers the queue's waiting afterwards, so that the queue's Processor
// cannot conclude meanwhile that nothing lives.
func (p *Processor) claim(s submission) {
	switch {
	case s.token && p.holding:
		p.group.giveToken()
	case s.token:
		p.holding = true
	default:
		p.hold()
	}
}

// steal takes new coroutines from the Processor with the largest share for p,
// and reports whether it got any.
func (p *Processor) steal(now int64) bool {
	var victim *Processor
	most := 0
	for _, q := range p.group.members {
		if q == p || q.sub.offered.Load() == 0 {
			continue
		}
		if n := p.stealQuota(q, now); n > most {
			victim, most = q, n
		}
	}
	return victim != nil && p.stealFrom(victim, most)
}

// hasStealable reports whether another Processor has submissions that can be
// stolen, and whether p may steal any of them now.
func (p *Processor) hasStealable(now int64) (stealable, mine bool) {
	for _, q := range p.group.members {
		if q != p && q.sub.offered.Load() != 0 {
			stealable = true
			mine = mine || p.stealQuota(q, now) > 0
		}
	}
	return stealable, mine
}

// stealFrom steals up to n of q's submissions, and reports whether it got any.
func (p *Processor) stealFrom(q *Processor, n int) bool {
	v := &q.sub
	v.mu.Lock()
	var taken [turnStarts]submission
	k := dequeue(&v.stealable, taken[:min(n, turnStarts)])
	for _, s := range taken[:k] {
		p.claim(s)
		p.ex.Adopt(s.co)
	}
	v.offered.Add(int32(-k))
	v.waiting.Add(int32(-k))
	v.mu.Unlock()
	if k == 0 {
		return false
	}
	p.Stats.Stolen.Add(uint64(k))
	return true
}

// stealQuota returns how many of q's submissions p may steal: at most half, and
// at most the number that evens out the two loads. Without the second limit the
// first Processor awake would steal most of a burst from Processors that are
// about to wake, and keep it. While q is stalled only the first limit holds.
func (p *Processor) stealQuota(q *Processor, now int64) int {
	half := (int(q.sub.offered.Load()) + 1) / 2
	if q.stalled(now) {
		return half
	}
	if !p.active.Load() && 2*half < burstStarts {
		return 0
	}
	return min(half, (q.load()-p.load())/2)
}

// stalledNs is the length of a turn from which on a coroutine is assumed to
// compute or to block its thread. It is longer than a time slice, for which
// another thread may have had the core.
const stalledNs = 10_000_000

// stalled reports whether a coroutine has held p's thread for stalledNs. Any
// thread.
func (p *Processor) stalled(now int64) bool {
	return p.ex.Current() != nil && now-int64(p.Stats.TurnStart.Load()) > stalledNs
}
