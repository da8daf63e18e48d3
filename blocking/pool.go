package blocking

import (
	"container/list"
	"fmt"

	"github.com/netco-go/netco/internal/waitq"
)

// defaultLimit is how many functions a pool runs at once by default. A function
// that blocks in the kernel or in C holds a thread, and a Go program may have
// 10,000 threads unless debug.SetMaxThreads says otherwise. The servers behind
// the functions have limits too: database servers usually accept 100 to 150
// connections. 256 is above these limits, and far below the limit of threads.
const defaultLimit = 256

// Pool runs functions for coroutines on ordinary goroutines, no more than its
// limit at once. The zero Pool is ready for use and has a limit of 256. A Pool
// must not be copied.
type Pool struct {
	mu      waitq.Mutex // held for a few instructions, never across a park
	limit   int         // 0 is defaultLimit
	running int         // functions
	queue   list.List   // of *call, the oldest first; empty below the limit
	callers waitq.Queue // callers whose calls are queued or run

	done      uint64
	abandoned uint64
}

// SetLimit sets how many functions the pool runs at once. A limit below 1 is an
// error. Functions beyond the new limit that run already run to their end.
func (p *Pool) SetLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("blocking: limit %d: must be at least 1", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
	p.startLocked()
	return nil
}

func (p *Pool) limitLocked() int {
	if p.limit == 0 {
		return defaultLimit
	}
	return p.limit
}

// submit starts c, or queues it at the limit.
func (p *Pool) submit(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.callers.Push(c.caller, waitq.AnyKind)
	if p.running < p.limitLocked() {
		p.running++
		go c.main()
		return
	}
	c.place = p.queue.PushBack(c)
}

// startLocked starts queued calls as far as the limit allows.
func (p *Pool) startLocked() {
	for p.queue.Len() > 0 && p.running < p.limitLocked() {
		p.running++
		c := p.queue.Remove(p.queue.Front()).(*call)
		c.place = nil
		go c.main()
	}
}

// Stats are the figures of a pool at some moment. Functions that ran in place
// are not counted.
type Stats struct {
	Limit     int    // most functions at once, see SetLimit
	Running   int    // functions that run, whether or not their callers still wait
	Queued    int    // calls that wait for others to end
	Done      uint64 // functions that have ended, in whatever way
	Abandoned uint64 // calls that were abandoned while their function ran
}

// Stats returns the pool's figures. From any thread; it does not allocate.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{p.limitLocked(), p.running, p.queue.Len(), p.done, p.abandoned}
}
