package blocking

import (
	"fmt"
	"sync"
	"time"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/ilist"
)

// defaultLimit is how many functions a pool runs at once if nothing else was
// said. A function that blocks in the kernel or in C holds a thread, of which a
// Go program may have 10,000 unless debug.SetMaxThreads says otherwise; and
// what they wait for has limits of its own, the usual database servers' of 100
// to 150 connections among them. 256 is above those, and far from the other.
const defaultLimit = 256

// Pool is a set of ordinary goroutines, its workers, that run functions for
// coroutines, no more than its limit at once. The zero Pool is ready for use
// and has a limit of 256. It has nothing to close: its workers end when they
// have been idle for a while. A Pool must not be copied.
type Pool struct {
	mu      sync.Mutex // held for a few instructions, never across a park
	limit   int        // 0 is defaultLimit
	workers int        // that live, idle ones included
	idle    []*worker  // the one used last is last; while there are any, queue is empty
	queue   queue      // calls that wait for a worker; under mu

	// See tick.
	untouched int // of idle, from the front, since the last tick
	ticking   bool
	timer     *time.Timer // nil before the first use

	done      uint64
	abandoned uint64

	shown shown // the figures when mu was last unlocked
}

// shown is a pool's figures for readers that take no lock. Written under mu,
// each with an ordinary store; read by any thread.
type shown struct{ limit, workers, idle, queued, done, abandoned counter.Counter }

// unlock unlocks mu and publishes the figures that it guards.
func (p *Pool) unlock() {
	p.shown.limit.Set(uint64(p.limit))
	p.shown.workers.Set(uint64(p.workers))
	p.shown.idle.Set(uint64(len(p.idle)))
	p.shown.queued.Set(uint64(p.queue.length))
	p.shown.done.Set(p.done)
	p.shown.abandoned.Set(p.abandoned)
	p.mu.Unlock()
}

// queue is a list of calls, the oldest first, out of which any can be taken.
type queue struct {
	calls  ilist.List[call]
	length int
}

func (q *queue) push(c *call) {
	c.queued = true
	q.calls.PushBack(c)
	q.length++
}

// pop takes the oldest out, or returns nil.
func (q *queue) pop() *call {
	c := q.calls.Front()
	if c != nil {
		q.remove(c)
	}
	return c
}

// remove takes c out if it is in.
func (q *queue) remove(c *call) {
	if c.queued {
		c.queued = false
		q.calls.Remove(c)
		q.length--
	}
}

// SetLimit sets how many functions the pool runs at once. A limit below 1 is an
// error. More than the new limit may already be running: they run to their end.
func (p *Pool) SetLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("blocking: limit %d: must be at least 1", n)
	}
	p.mu.Lock()
	defer p.unlock()
	p.limit = n
	p.endIdleLocked(min(len(p.idle), p.workers-n))
	p.startLocked()
	return nil
}

func (p *Pool) limitLocked() int {
	if p.limit == 0 {
		return defaultLimit
	}
	return p.limit
}

// startLocked starts workers for queued calls as far as the limit lets it.
func (p *Pool) startLocked() {
	for p.queue.length > 0 && p.workers < p.limitLocked() {
		p.workers++
		p.start(p.queue.pop())
	}
}

// submit gives c to the worker used last, to a new one, or to the queue.
func (p *Pool) submit(c *call) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.untouched = min(p.untouched, n-1)
		p.unlock()
		w.calls <- c
		return
	}
	p.queue.push(c)
	p.startLocked()
	p.unlock()
}

// next returns what a worker does after a call: the oldest call of the queue,
// or wait (nil, true), or end (nil, false).
func (p *Pool) next(w *worker, started bool) (c *call, stay bool) {
	p.mu.Lock()
	defer p.unlock()
	if started {
		p.done++
	}
	if p.workers > p.limitLocked() {
		p.workers--
		return nil, false
	}
	if c := p.queue.pop(); c != nil {
		return c, true
	}
	p.idle = append(p.idle, w)
	p.tickLocked()
	return nil, true
}

// lost removes a worker that was ended by the function it ran.
func (p *Pool) lost() {
	p.mu.Lock()
	defer p.unlock()
	p.done++
	p.workers--
	p.startLocked()
}

// forget removes an abandoned call from the queue, if it is there.
func (p *Pool) forget(c *call, runs bool) {
	p.mu.Lock()
	defer p.unlock()
	p.queue.remove(c)
	if runs {
		p.abandoned++
	}
}

// Stats is what a pool is doing at some moment, and has done. Functions that
// were run in place are not in it.
type Stats struct {
	Limit     int    // how many functions run at once at most, see SetLimit
	Workers   int    // goroutines: Idle and Running
	Idle      int    // of them, those with nothing to do
	Running   int    // of them, those with a function, whether or not its caller still waits
	Queued    int    // calls that wait for a worker
	Done      uint64 // functions that have ended, in whatever way
	Abandoned uint64 // calls that were abandoned while their function ran
}

// Stats returns the pool's figures. It takes no lock, so that reading a pool
// never makes a call wait; the figures may be of slightly different moments.
// From any thread; it does not allocate.
func (p *Pool) Stats() Stats {
	s := Stats{
		Limit: int(p.shown.limit.Load()), Idle: int(p.shown.idle.Load()),
		Workers: int(p.shown.workers.Load()),
		Queued:  int(p.shown.queued.Load()), Done: p.shown.done.Load(),
		Abandoned: p.shown.abandoned.Load(),
	}
	if s.Limit == 0 {
		s.Limit = defaultLimit
	}
	s.Idle = min(s.Idle, s.Workers)
	s.Running = s.Workers - s.Idle
	return s
}
