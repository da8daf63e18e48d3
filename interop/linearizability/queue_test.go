package linearizability

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/netco-go/netco/sync"
)

const queueSize = 2

// queue is what a channel with a buffer is, made of a Mutex and two Conds. To a model that sees no queue of those who wait it is one: its
// calls are those that do not wait, made at the moment at which they need not.
type queue struct {
	mu                sync.Mutex
	notEmpty, notFull *sync.Cond
	items             []byte // under mu, as closed
	closed            bool
	senders           atomic.Int32 // have not ended
}

func newQueue(*rand.Rand) *queue {
	q := new(queue)
	q.notEmpty, q.notFull = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	q.senders.Store(clients / 2)
	return q
}

// await waits for c while not is true: for ever, or if d is not negative for at most about d each time. It reports whether not is false.
func await(c *sync.Cond, d time.Duration, not func() bool) bool {
	for not() {
		if d < 0 {
			c.Wait()
		} else if c.WaitTimeout(d) != nil {
			return !not()
		}
	}
	return true
}

func (q *queue) put(id, v byte, d time.Duration) []transfer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !await(q.notFull, d, func() bool { return len(q.items) == queueSize && !q.closed }) {
		return []transfer{{"full", id, v}}
	}
	if q.closed {
		return []transfer{{"refused", id, v}}
	}
	q.items = append(q.items, v)
	q.notEmpty.Signal()
	return []transfer{{"try-send", id, v}}
}

func (q *queue) take(id byte, d time.Duration) (steps []transfer, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !await(q.notEmpty, d, func() bool { return len(q.items) == 0 && !q.closed }) {
		return []transfer{{"empty", id, 0}}, true
	}
	if len(q.items) == 0 {
		return []transfer{{"try-recv", id, 0}}, false
	}
	v := q.items[0]
	q.items = q.items[1:]
	q.notFull.Signal()
	return []transfer{{"try-recv", id, v}}, true
}

func (q *queue) close() []transfer {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
	return []transfer{{op: "close"}}
}

// TestCondQueue: no signal is lost, none wakes one for whom there is nothing, and who gives up has taken nothing.
func TestCondQueue(t *testing.T) {
	record(t, newQueue, func(c *client[transfer], q *queue) {
		wait := func() time.Duration {
			if c.IntN(2) == 0 {
				return -1
			}
			return c.bound()
		}
		if c.id%2 == 0 {
			for i := range 4 {
				c.call(func() []transfer { return q.put(byte(c.id), byte(1+c.id*10+i), wait()) })
				c.pause()
			}
			if q.senders.Add(-1) == 0 {
				c.call(q.close)
			}
			return
		}
		for more := true; more; c.pause() {
			c.call(func() (steps []transfer) {
				steps, more = q.take(byte(c.id), wait())
				return steps
			})
		}
	}, func(_ *queue, history []porcupine.Operation) bool {
		return accept(t, channelModel(queueSize), history)
	})
}
