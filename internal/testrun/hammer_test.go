package testrun_test

import (
	"context"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/sync"
)

// taken is a lock: take has it in the i-th way or, if that is bounded, returns
// nil, and reports whether its holder is alone.
type taken struct {
	take func(i int) (unlock func(), alone bool)
	over func() error
}

const brief = 5 * time.Microsecond

// had is unlock if there was no error.
func had(err error, unlock func()) func() {
	if err != nil {
		return nil
	}
	return unlock
}

var takens = map[string]func() taken{
	"Mutex": func() taken {
		m := new(sync.Mutex)
		return taken{func(i int) (func(), bool) {
			if i%2 == 0 {
				m.Lock()
				return m.Unlock, true
			}
			return had(m.LockTimeout(brief), m.Unlock), true
		}, free(m.TryLock, m.Unlock)}
	},
	"RWMutex": func() taken {
		m := new(rwmutex.RWMutex)
		return taken{func(i int) (func(), bool) {
			switch i % 4 {
			case 0:
				m.Lock()
				return m.Unlock, true
			case 1:
				return had(m.LockTimeout(brief), m.Unlock), true
			case 2:
				m.RLock()
				return m.RUnlock, false
			}
			return had(m.RLockTimeout(brief), m.RUnlock), false
		}, free(m.TryLock, m.Unlock)}
	},
	"Semaphore": func() taken {
		s := sync.NewSemaphore(4)
		return taken{func(i int) (func(), bool) {
			n := int64(i%4 + 1)
			back := func() { s.Release(n) }
			if i%8 < 4 {
				s.Acquire(n)
				return back, n == 4
			}
			return had(s.AcquireTimeout(n, brief), back), n == 4
		}, free(func() bool { return s.TryAcquire(4) }, func() { s.Release(4) })}
	},
}

// pair is guarded by a lock: a holder that is alone leaves both halves equal.
type pair struct{ a, b int }

// use has the lock once, over a Yield, in which it may be unwound.
func (l *taken) use(t *testing.T, i int, p *pair) {
	unlock, alone := l.take(i)
	if unlock == nil {
		return
	}
	defer unlock()
	if !alone {
		netco.Yield()
		return
	}
	testenv.Equal(t, p.a, p.b, "the halves")
	p.a++
	defer func() { p.b++ }()
	netco.Yield()
}

// TestForcedHammer ends, by a forced shutdown, coroutines that take and give
// back a lock, while goroutines do the same. None is left locked.
func TestForcedHammer(t *testing.T) {
	for name, make := range takens {
		t.Run(name, func(t *testing.T) {
			mustEnd(t)
			for range testenv.Rounds(100) {
				testrun.Start(t, 2)
				l, p := make(), new(pair)
				var stop atomic.Bool
				var wg stdsync.WaitGroup
				for k := range 8 {
					use := func() {
						for i := k; !stop.Load(); i++ {
							l.use(t, i, p)
						}
					}
					if k < 2 {
						wg.Go(use)
					} else {
						testrun.Coroutines[k%2].Run(use)
					}
				}
				now, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				netco.Shutdown(now)
				cancel()
				stop.Store(true)
				wg.Wait()
				testrun.AwaitEnds(t)
				testenv.NoError(t, l.over())
			}
		})
	}
}
