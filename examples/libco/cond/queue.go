package main

import (
	"io"
	"time"

	"github.com/netco-go/netco/sync"
)

// queue is a first-in-first-out queue without a limit.
type queue struct {
	mu     sync.Mutex
	more   *sync.Cond // with mu: there is another task, or there will be none
	tasks  []int      // under mu
	closed bool       // under mu
}

func newQueue() *queue {
	q := new(queue)
	q.more = sync.NewCond(&q.mu)
	return q
}

func (q *queue) put(id int) {
	q.mu.Lock()
	q.tasks = append(q.tasks, id)
	q.mu.Unlock()
	q.more.Signal()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.more.Broadcast()
}

// take returns the next task; io.EOF if there will be none; or the error of a
// wait that was too long.
func (q *queue) take(patience time.Duration) (id int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 {
		if q.closed {
			return 0, io.EOF
		}
		if err := q.more.WaitTimeout(patience); err != nil {
			return 0, err
		}
	}
	id, q.tasks = q.tasks[0], q.tasks[1:]
	return id, nil
}
