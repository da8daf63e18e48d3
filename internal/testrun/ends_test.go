package testrun_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/sync"
)

// waiter is one that waits in a scene.
type waiter struct {
	task               *testrun.Task
	err                error // valid if returned
	returned, deferred bool  // read after its end
}

// begin has f wait in p, and returns when a coroutine is parked, a goroutine
// has started.
func begin(t *testing.T, p testrun.Place, f func() error) *waiter {
	w := new(waiter)
	w.task = p.Go(func() {
		defer func() { w.deferred = true }()
		w.err = f()
		w.returned = true
	})
	testenv.Await(t, w.task.Started, "the waiter to start")
	if co := w.task.Co; co != nil {
		testenv.Until(t, "the waiter to park", func() bool {
			return co.State() == coroutine.Waiting && co.Reason() != coroutine.ReasonNone
		})
	}
	return w
}

// served checks that the wait has ended as if there were no other.
func (w *waiter) served(t *testing.T, who any) {
	t.Helper()
	if w.task.Wait(t); !w.returned || w.err != nil {
		t.Errorf("%v: returned: %t, %v", who, w.returned, w.err)
	}
}

// cut checks that the wait has ended by force: by its error if it has one, else
// by unwinding.
func (w *waiter) cut(t *testing.T, who int, bounded bool, odd string) {
	t.Helper()
	w.task.Wait(t)
	returns := bounded || strings.Contains(odd, "returns")
	if strings.Contains(odd, "either") {
		returns = w.returned
	}
	if !w.deferred || w.returned != returns || returns && !errors.Is(w.err, netco.ErrShutdown) {
		t.Errorf("%d: deferred calls ran: %t, returned: %t, %v", who, w.deferred, w.returned, w.err)
	}
}

// everyWait runs f as a subtest for each scene but those of which odd says one
// of the words.
func everyWait(t *testing.T, but string, f func(t *testing.T, s *scene, odd string)) {
	for _, c := range waits {
		if slices.ContainsFunc(strings.Fields(but), func(w string) bool {
			return strings.Contains(c.odd, w)
		}) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			testrun.Start(t, 2)
			s := c.make(t)
			f(t, &s, c.odd)
			if s.over != nil {
				testenv.NoError(t, s.over())
			}
		})
	}
}

// ways are the waits of s that end by what is done to it, the unbounded first.
func (s *scene) ways() []func() error {
	all := []func() error{s.wait}
	if s.timeout != nil {
		all = append(all, func() error { return s.timeout(time.Hour) })
	}
	if s.context != nil {
		all = append(all, func() error { return s.context(context.Background()) })
	}
	return all
}

// TestStop: of several that wait for the same some are stopped, from the same
// thread, another coroutine's or a goroutine. They end, with ErrShutdown or
// unwinding; the others get what they wait for, and nothing stays behind.
func TestStop(t *testing.T) {
	testrun.Each(t, func(t *testing.T, from testrun.Place) {
		everyWait(t, "", func(t *testing.T, s *scene, odd string) {
			before := sockinfo.OpenCount()
			ways := s.ways()
			var all []*waiter
			for i := range 9 {
				all = append(all, begin(t, testrun.Coroutines[i%2], ways[i%len(ways)]))
			}
			victims := []int{0, 1, 2, 4, 5, 8}
			from.Do(t, func() {
				for _, i := range victims {
					all[i].task.Co.Handle().Stop()
				}
			})
			for _, i := range victims {
				all[i].cut(t, i, i%len(ways) > 0, odd)
			}
			for i, w := range all {
				if !slices.Contains(victims, i) && w.task.Over() {
					t.Errorf("%d has ended too: returned: %t, %v", i, w.returned, w.err)
				}
			}
			s.release()
			for i, w := range all {
				if !slices.Contains(victims, i) {
					w.served(t, i)
				}
			}
			testenv.Equal(t, sockinfo.OpenCount(), before, "open sockets")
		})
	})
}

// TestForcedEnd: a forced shutdown ends the waits of coroutines, with
// ErrShutdown or unwinding, and takes them out of the queue. A goroutine that
// waits behind them gets what it waits for, and nothing stays behind.
func TestForcedEnd(t *testing.T) {
	everyWait(t, "ends", func(t *testing.T, s *scene, odd string) {
		ways := s.ways()
		var all []*waiter
		for i := range 6 {
			all = append(all, begin(t, testrun.Coroutines[i%2], ways[i%len(ways)]))
		}
		behind := begin(t, testrun.Goroutine, s.wait)
		testrun.ShutdownByForce(t)
		for i, w := range all {
			w.cut(t, i, i%len(ways) > 0, odd)
		}
		if behind.task.Over() {
			t.Error("the goroutine has not waited")
		}
		s.release()
		behind.served(t, "the goroutine")
	})
}

// TestBounds: a bounded wait ends with its bound's error, and is in no queue
// then: others get what they wait for. What comes in time is had; and what is
// there is had whatever the bound.
func TestBounds(t *testing.T) {
	everyWait(t, "", func(t *testing.T, s *scene, odd string) {
		var behind []*waiter
		places := testrun.Places
		if strings.Contains(odd, "there") {
			places = testrun.Coroutines
		}
		for _, p := range places {
			s.bounded(func(name string, end func() error, want error) {
				if want == nil {
					behind = append(behind, begin(t, p, end))
					return
				}
				p.Do(t, func() { testenv.Equal(t, end(), want, name, "on a", p.Name) })
			})
		}
		s.release()
		for i, w := range behind {
			w.served(t, i)
		}
		if strings.Contains(odd, "asks") || strings.Contains(odd, "ends") {
			return
		}
		for _, p := range testrun.Places {
			p.Do(t, func() {
				s.bounded(func(name string, end func() error, _ error) {
					testenv.Fails(t, end(), nil, name, "on a", p.Name, "without a wait")
				})
			})
		}
	})
}

// guarded is a context whose methods wait for a lock, as one that was written
// with a sync.Mutex does once its module is ported.
type guarded struct{ context.Context }

func (c guarded) wait() {
	f := sync.NewFuture[int]()
	testrun.First.Run(func() { f.Set(1) })
	f.Get()
}

func (c guarded) Done() <-chan struct{} { c.wait(); return c.Context.Done() }
func (c guarded) Err() error            { c.wait(); return c.Context.Err() }
func (c guarded) Value(key any) any     { c.wait(); return c.Context.Value(key) }

// TestContextWaits: a context's methods may wait, and are called where the
// caller is in no queue. They were called with its waiter queued, which they
// used too: the queue was lost, and with it all behind.
func TestContextWaits(t *testing.T) {
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprint("ends=", ends), func(t *testing.T) {
			everyWait(t, "asks", func(t *testing.T, s *scene, _ string) {
				if s.context == nil {
					s.release()
					return
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var all []*waiter
				for range 3 {
					all = append(all, begin(t, testrun.First, func() error {
						return s.context(guarded{ctx})
					}))
				}
				if !ends {
					s.release()
				} else {
					cancel()
				}
				for i, w := range all {
					w.task.Wait(t)
					if ends && w.err != context.Canceled || !ends && w.err != nil {
						t.Errorf("%d: %v", i, w.err)
					}
				}
				if ends {
					s.release()
				}
			})
		})
	}
}

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
