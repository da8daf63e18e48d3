package linearizability

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/netco-go/netco/sync"
)

// held is a step of a lock's.
type held struct {
	op string // lock, unlock, or refused: to a call that does not wait
}

func lockModel() porcupine.Model {
	return model(false, func(locked bool, s held) (bool, bool) {
		switch s.op {
		case "lock":
			return true, !locked
		case "unlock":
			return false, locked
		}
		return locked, locked // refused
	})
}

// TestMutex: one at a time holds it, and who does not wait is refused only while another does.
func TestMutex(t *testing.T) {
	record(t, func(*rand.Rand) *sync.Mutex {
		return new(sync.Mutex)
	}, func(c *client[held], m *sync.Mutex) {
		for range 5 {
			got := true
			c.call(func() []held {
				switch c.IntN(4) {
				case 0:
					if got = m.TryLock(); !got {
						return []held{{"refused"}}
					}
				case 1:
					d := c.bound()
					if got = m.LockTimeout(d) == nil; !got && d == 0 {
						return []held{{"refused"}}
					} else if !got {
						return nil // whenever it gave up
					}
				default:
					m.Lock()
				}
				return []held{{"lock"}}
			})
			if got {
				c.pause()
				c.call(func() []held { m.Unlock(); return []held{{"unlock"}} })
			}
		}
	}, func(_ *sync.Mutex, history []porcupine.Operation) bool {
		return accept(t, lockModel(), history)
	})
}

// added is a step of a counter: what it was before 1 was added.
type added struct{ before int }

// counter is guarded by its Mutex.
type counter struct {
	sync.Mutex
	n int
}

// add adds 1, with others let in between read and write if the lock lets them.
func (ct *counter) add(c *client[added]) []added {
	before := ct.n
	c.pause()
	ct.n = before + 1
	return []added{{before}}
}

func counterModel() porcupine.Model {
	return model(0, func(n int, s added) (int, bool) { return n + 1, n == s.before })
}

// TestMutexCounter: what a Mutex guards changes as if one call came after the other.
func TestMutexCounter(t *testing.T) {
	record(t, func(*rand.Rand) *counter {
		return new(counter)
	}, func(c *client[added], x *counter) {
		for range 8 {
			c.call(func() []added {
				switch c.IntN(4) {
				case 0:
					if !x.TryLock() {
						return nil
					}
				case 1:
					if x.LockTimeout(c.bound()) != nil {
						return nil
					}
				default:
					x.Lock()
				}
				defer x.Unlock()
				return x.add(c)
			})
		}
	}, func(_ *counter, history []porcupine.Operation) bool {
		return accept(t, counterModel(), history)
	})
}

// access is a step of a register's: a value written or read.
type access struct {
	op string // read or write
	v  int
}

func registerModel() porcupine.Model {
	return model(0, func(v int, s access) (int, bool) {
		if s.op == "write" {
			return s.v, true
		}
		return v, v == s.v
	})
}

// register is guarded by its lock: both halves are equal but while it is written.
type register struct {
	sync.RWMutex
	a, b int
}

// TestRWMutex: what it guards is written and read as if one call came after the other.
func TestRWMutex(t *testing.T) {
	record(t, func(*rand.Rand) *register {
		return new(register)
	}, func(c *client[access], x *register) {
		for i := range 8 {
			try := c.IntN(4) == 0
			if c.IntN(3) > 0 {
				c.call(func() []access {
					if !try {
						x.RLock()
					} else if !x.TryRLock() {
						return nil
					}
					defer x.RUnlock()
					a := x.a
					c.pause()
					if x.b != a {
						t.Errorf("read %d and %d", a, x.b)
					}
					return []access{{"read", a}}
				})
				continue
			}
			c.call(func() []access {
				if !try {
					x.Lock()
				} else if !x.TryLock() {
					return nil
				}
				defer x.Unlock()
				x.a = 1 + c.id*100 + i
				c.pause()
				x.b = x.a
				return []access{{"write", x.a}}
			})
		}
	}, func(_ *register, history []porcupine.Operation) bool {
		return accept(t, registerModel(), history)
	})
}
