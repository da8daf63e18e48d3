package testrun_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
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
		if isOneOf(c.odd, but) {
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

// isOneOf reports whether odd has one of the words.
func isOneOf(odd, words string) bool {
	return slices.ContainsFunc(strings.Fields(words), func(w string) bool {
		return strings.Contains(odd, w)
	})
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

func (g guarded) wait() {
	f := sync.NewFuture[int]()
	testrun.First.Run(func() { f.Set(1) })
	f.Get()
}

func (g guarded) Done() <-chan struct{} { g.wait(); return g.Context.Done() }
func (g guarded) Err() error            { g.wait(); return g.Context.Err() }
func (g guarded) Value(key any) any     { g.wait(); return g.Context.Value(key) }

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

// TestWaitsHammer: many wait, in all ways and some for a short time only, while
// what they wait for comes. None has it before, all get it that wait for long,
// and nothing stays behind.
func TestWaitsHammer(t *testing.T) {
	for _, c := range waits {
		if isOneOf(c.odd, "ends there") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			testrun.Start(t, 2)
			for range testenv.Rounds(300) {
				s := c.make(t)
				waitInCrowd(t, &s)
				if s.over != nil {
					testenv.NoError(t, s.over())
				}
			}
		})
	}
}

func waitInCrowd(t *testing.T, s *scene) {
	var released atomic.Bool
	var tasks []*testrun.Task
	for i := range 9 {
		tasks = append(tasks, testrun.Places[i%3].Go(func() {
			short, err := time.Duration(rand.IntN(80))*time.Microsecond, error(nil)
			switch how := i / 3; {
			case how == 1 && s.timeout != nil:
				err = s.timeout(short)
			case how == 2 && s.context != nil:
				ctx, cancel := context.WithTimeout(context.Background(), short)
				defer cancel()
				err = s.context(ctx)
			default:
				err = s.wait()
			}
			switch {
			case err == nil && !released.Load():
				t.Error("it has not waited")
			case err != nil && err != os.ErrDeadlineExceeded && err != context.DeadlineExceeded:
				t.Error(err)
			}
		}))
	}
	for wait := time.Now().Add(time.Duration(rand.IntN(60)) * time.Microsecond); time.Now().Before(
		wait); {
		runtime.Gosched()
	}
	released.Store(true)
	s.release()
	testrun.WaitAll(t, tasks...)
}

// taken is a lock: take has it in the i-th way or, if that is bounded, returns
// nil, and reports whether its holder is alone.
type taken struct {
	take func(i int) (unlock func(), alone bool)
	over func() error
}

// had is unlock if there was no error.
func had(err error, unlock func()) func() {
	if err != nil {
		return nil
	}
	return unlock
}

// inAWay takes a lock in the i-th of the ways to do so.
func inAWay(i int, lock func(), try func() bool, timeout func(time.Duration) error,
	ctx func(context.Context) error, unlock func()) func() {
	brief := time.Duration(i%50) * time.Microsecond
	switch i % 4 {
	case 0:
		lock()
	case 1:
		if !try() {
			return nil
		}
	case 2:
		return had(timeout(brief), unlock)
	default:
		c, cancel := context.WithTimeout(context.Background(), brief)
		defer cancel()
		return had(ctx(c), unlock)
	}
	return unlock
}

var takens = map[string]func() taken{
	"Mutex": func() taken {
		m := new(sync.Mutex)
		return taken{func(i int) (func(), bool) {
			return inAWay(i, m.Lock, m.TryLock, m.LockTimeout, m.LockContext, m.Unlock), true
		}, free(m.TryLock, m.Unlock)}
	},
	"RWMutex": func() taken {
		m := new(sync.RWMutex)
		return taken{func(i int) (func(), bool) {
			if i%3 > 0 {
				return inAWay(i, m.RLock, m.TryRLock, m.RLockTimeout, m.RLockContext,
					m.RUnlock), false
			}
			return inAWay(i, m.Lock, m.TryLock, m.LockTimeout, m.LockContext, m.Unlock), true
		}, free(m.TryLock, m.Unlock)}
	},
	"Semaphore": func() taken {
		const size = 300 // more than a byte holds
		s := sync.NewSemaphore(size)
		return taken{func(i int) (func(), bool) {
			n := int64(i/4%16 + 1)
			if n > 14 {
				n += size - 16
			}
			return inAWay(i, func() { s.Acquire(n) }, func() bool { return s.TryAcquire(n) },
				func(d time.Duration) error { return s.AcquireTimeout(n, d) },
				func(ctx context.Context) error { return s.AcquireContext(ctx, n) },
				func() { s.Release(n) }), n == size
		}, free(func() bool { return s.TryAcquire(size) }, func() { s.Release(size) })}
	},
}

// pair is guarded by a lock: a holder that is alone leaves both halves equal.
// The race detector watches it too.
type pair struct {
	a, b   int
	raised atomic.Int64 // how often
}

// use has the lock once, over pause, in which it may be unwound, and then gives
// it back.
func (tn *taken) use(t *testing.T, i int, p *pair, pause func(), give func(unlock func())) {
	unlock, alone := tn.take(i)
	if unlock == nil {
		netco.Yield()
		return
	}
	defer give(unlock)
	a := p.a
	testenv.Equal(t, p.b, a, "the halves")
	if !alone {
		pause()
		testenv.Equal(t, p.a, a, "while a reader holds the lock")
		return
	}
	p.raised.Add(1)
	p.a++
	defer func() { p.b++ }()
	pause()
}

// TestHammer takes and gives back a lock in all ways, on all threads. Its
// holders go on, yield or sleep, now and then for so long that it is handed
// over. Some are unlocked by another coroutine.
func TestHammer(t *testing.T) {
	for name, make := range takens {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			l, p := make(), new(pair)
			var tasks []*testrun.Task
			var others stdsync.WaitGroup // that unlock
			for k := range 12 {
				tasks = append(tasks, testrun.Places[k%3].Go(func() {
					for i := range testenv.Rounds(8000) {
						l.use(t, rand.Int(), p, func() { hold(k + i) }, func(unlock func()) {
							if i%16 == 0 {
								others.Add(1)
								testrun.Coroutines[k%2].Run(func() { unlock(); others.Done() })
							} else {
								unlock()
							}
						})
					}
				}))
			}
			testrun.WaitAll(t, tasks...)
			others.Wait()
			testenv.Equal(t, int64(p.a), p.raised.Load(), "raised")
			testenv.Equal(t, p.b, p.a, "the halves")
			testenv.NoError(t, l.over())
		})
	}
}

// hold is what a holder does.
func hold(i int) {
	switch {
	case i%500 == 0:
		netco.Sleep(1500 * time.Microsecond) // others starve
	case i%64 == 0:
		netco.Sleep(time.Microsecond)
	case i%8 == 0:
		netco.Yield()
	}
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
							l.use(t, i, p, netco.Yield, func(unlock func()) { unlock() })
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
