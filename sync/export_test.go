package sync

import (
	"runtime"
	"testing"

	"github.com/netco-go/netco/internal/waitq"
)

func queued(g *waitq.Guard, q *waitq.Queue) (n int) {
	g.Lock()
	defer g.Unlock()
	for w := q.Front(); w != nil; w = w.Link {
		n++
	}
	return n
}

// Waiting returns how many are in the queue.
func (m *Mutex) Waiting() int      { return queued(&m.guard, &m.queue) }
func (c *Cond) Waiting() int       { return queued(&c.guard, &c.queue) }
func (wg *WaitGroup) Waiting() int { return queued(&wg.guard, &wg.queue) }
func (s *Semaphore) Waiting() int  { return queued(&s.guard, &s.queue) }
func (f *Future[T]) Waiting() int  { return queued(&f.guard, &f.queue) }

// AsNew reports whether m is free and has no waiters.
func (m *Mutex) AsNew() bool {
	return m.state.Load()&^quick == free && m.waiters.Load() == noWaiters && m.Waiting() == 0
}

// Waiting returns how many wait for m in any way.
func (m *RWMutex) Waiting() int {
	return m.w.Waiting() + queued(&m.guard, &m.reading) + queued(&m.guard, &m.draining)
}

// AsNew reports whether m is free and has no waiters.
func (m *RWMutex) AsNew() bool { return m.w.AsNew() && m.load() == 0 && m.Waiting() == 0 }

// Starve says of all waiters whether they are starved, until t ends.
func Starve(t *testing.T, is bool) {
	was := starved
	starved = func(int64) bool { return is }
	t.Cleanup(func() { starved = was })
}

// Handoff reports whether the next Unlock passes m to a waiter.
func (m *Mutex) Handoff() bool    { return m.state.Load()&^quick == handoff }
func (c *Cond) AsNew() bool       { return !c.hasWaiters.Load() && c.Waiting() == 0 }
func (wg *WaitGroup) AsNew() bool { return wg.state.Load() == 0 && wg.Waiting() == 0 }

// Await returns when n wait. Blocks.
func Await(x interface{ Waiting() int }, n int) {
	for x.Waiting() != n {
		runtime.Gosched()
	}
}

// Free returns the number of free units, and whether there are waiters.
func (s *Semaphore) Free() (int64, bool) {
	state := s.state.Load()
	return state &^ hasWaiters, state < 0
}
