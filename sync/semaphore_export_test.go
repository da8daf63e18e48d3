package sync

import (
	"runtime"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Free returns the number of free units, and whether there are waiters.
func (s *Semaphore) Free() (int64, bool) {
	state := s.state.Load()
	return state &^ hasWaiters, state < 0
}

// AwaitWaiting returns when n wait.
func (s *Semaphore) AwaitWaiting(n int) { awaitWaiting(&s.guard, n, &s.queue) }

// AwaitWaiting returns when n wait.
func (f *Future[T]) AwaitWaiting(n int) { awaitWaiting(&f.guard, n, &f.queue) }

func awaitWaiting(g *waitq.Guard, n int, q *waitq.Queue) {
	for count(g, q) != n {
		if coroutine.Current() != nil {
			coroutine.YieldTurn() // another coroutine of this Processor may have to run
		} else {
			runtime.Gosched()
		}
	}
}

// Waiting returns how many wait.
func (s *Semaphore) Waiting() int { return count(&s.guard, &s.queue) }

func count(g *waitq.Guard, q *waitq.Queue) (n int) {
	g.Lock()
	defer g.Unlock()
	for w := q.Front(); w != nil; w = w.Link {
		n++
	}
	return n
}
