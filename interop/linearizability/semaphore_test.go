package linearizability

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/netco-go/netco/sync"
)

// units is a step of a semaphore's.
type units struct {
	op string // come, go, give up: of a call that waits; refused, taken: of one that does not; release
	id byte   // who waits
	n  byte   // how many
}

// semaphoreState is the model's: a queue that is served as soon as its front can be.
type semaphoreState struct {
	free  byte
	queue string // pairs of who and how many
	gone  uint64 // those whom the queue let go and who have not noticed, by bit
}

func (s semaphoreState) serve() semaphoreState {
	for len(s.queue) > 0 && s.queue[1] <= s.free {
		s.free -= s.queue[1]
		s.gone |= 1 << s.queue[0]
		s.queue = s.queue[2:]
	}
	return s
}

func (s semaphoreState) find(id byte) int {
	for i := 0; i < len(s.queue); i += 2 {
		if s.queue[i] == id {
			return i
		}
	}
	return -1
}

func semaphoreModel(size byte) porcupine.Model {
	return model(semaphoreState{free: size},
		func(s semaphoreState, u units) (semaphoreState, bool) {
			room := s.queue == "" && u.n <= s.free
			switch u.op {
			case "come":
				s.queue += string([]byte{u.id, u.n})
				return s.serve(), true
			case "go":
				bit := uint64(1) << u.id
				return semaphoreState{s.free, s.queue, s.gone &^ bit}, s.gone&bit != 0
			case "give up":
				i := s.find(u.id)
				if i < 0 {
					return s, false
				}
				s.queue = s.queue[:i] + s.queue[i+2:]
				return s.serve(), true
			case "refused":
				return s, !room
			case "taken":
				s.free -= u.n
				return s, room
			}
			s.free += u.n // release
			return s.serve(), s.free <= size
		})
}

const semaphoreSize = 3

// semaphore is what the clients use.
type semaphore interface {
	TryAcquire(n int64) bool
	Acquire(n int64)
	Release(n int64)
}

// useSemaphore takes units in all ways that s has, and gives them back.
func useSemaphore(c *client[units], s semaphore) {
	for range 4 {
		n := 1 + c.IntN(semaphoreSize)
		step := func(op string) units { return units{op, byte(c.id), byte(n)} }
		got := true
		c.call(func() []units {
			bounded, _ := s.(*sync.Semaphore)
			switch c.IntN(4) {
			case 0:
				if got = s.TryAcquire(int64(n)); !got {
					return []units{step("refused")}
				}
				return []units{step("taken")}
			case 1:
				if bounded == nil {
					break
				}
				d := c.bound()
				got = bounded.AcquireTimeout(int64(n), d) == nil
				switch {
				case !got && d == 0:
					return []units{step("refused")}
				case !got:
					return []units{step("come"), step("give up")}
				}
				return []units{step("come"), step("go")}
			}
			s.Acquire(int64(n))
			return []units{step("come"), step("go")}
		})
		if got {
			c.pause()
			c.call(func() []units { s.Release(int64(n)); return []units{step("release")} })
		}
	}
}

// TestSemaphore: there are never more units out than there are, and nobody passes the queue.
func TestSemaphore(t *testing.T) {
	record(t, func(*rand.Rand) semaphore {
		return sync.NewSemaphore(semaphoreSize)
	}, useSemaphore,
		func(_ semaphore, history []porcupine.Operation) bool {
			return accept(t, semaphoreModel(semaphoreSize), history)
		})
}
