package coroutine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// configs are how executors run here.
var configs = []struct {
	name string
	Config
}{{"pool", plain}, {"no pool", Config{}}}

// sleep is a wait without an error result.
func sleep(d time.Duration) {
	co := Current()
	if co.Executor().Host().ParkUntil(co, ReasonSleep, clock.Now()+int64(d)) == WakeShutdown {
		Unwind()
	}
}

// TestStopWaits: the present wait ends, later waits end at once, deferred calls
// run, and other coroutines are unaffected.
func TestStopWaits(t *testing.T) {
	for _, c := range configs {
		for _, local := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/local=%t", c.name, local), func(t *testing.T) {
				on(c.Config, func(ex *Executor) {
					var log []string
					other := ex.Spawn(Spawn{Fn: func() {
						testenv.Equal(t, Current().Park(ReasonUser), WakeReady,
							"the other's park ended with")
					}})
					ticket := other.Ticket()
					h := ex.Spawn(Spawn{Fn: func() {
						defer func() { log = append(log, "deferred"); sleep(time.Hour) }()
						co := Current()
						testenv.True(t, !Stopping(), "stopping too early")
						log = append(log, fmt.Sprint("park ", co.Park(ReasonUser)))
						testenv.True(t, Stopping(), "not stopping")
						log = append(log,
							fmt.Sprint("until ", co.Executor().Host().ParkUntil(co, ReasonSleep,
								clock.Now()+1e15)))
						w := AcquireWaiter()
						co.MakeReady(co.Ticket(), WakeReady) // a wake makes no difference
						log = append(log, fmt.Sprint("waiter ", w.Park(ReasonUser)))
						w.Release()
						testenv.True(t, YieldTurn(), "YieldTurn does not tell")
						Shield(Yield)
						log = append(log, fmt.Sprint("join ", other.Handle().Join() == ErrShutdown))
						Yield()
						t.Error("Yield returned")
					}}).Handle()
					Yield()
					stop := func() { h.Stop(); h.Stop() }
					if local {
						stop()
					} else {
						go stop()
					}
					err := h.Join()
					testenv.True(t, err == nil && h.Done(), "%v", err)
					h.Stop()
					want := fmt.Sprint([]string{"park 2", "until 2", "waiter 2", "join true",
						"deferred"})
					testenv.Equal(t, fmt.Sprint(log), want)
					ex.MakeReady(other, ticket, WakeReady)
				})
			})
		}
	}
}

// TestStopYields: Yield ends a coroutine that never parks, also where Yield is
// assembly, with few and many other coroutines.
func TestStopYields(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for _, c := range configs {
		for _, others := range []int{0, 1, 100} {
			t.Run(fmt.Sprintf("%s/%d", c.name, others), func(t *testing.T) {
				on(c.Config, func(ex *Executor) {
					over := false
					var hs []Handle
					for range others {
						hs = append(hs, ex.Spawn(Spawn{Fn: func() {
							for !over {
								Yield()
							}
						}}).Handle())
					}
					unwound := false
					h := ex.Spawn(Spawn{Fn: func() {
						defer func() { unwound = true }()
						for {
							Yield()
						}
					}}).Handle()
					for range 1000 {
						Yield()
					}
					go h.Stop()
					err := h.Join()
					testenv.True(t, err == nil && unwound, "%v, unwound %t", err, unwound)
					for range 100 {
						Yield()
					}
					for _, h := range hs {
						testenv.True(t, !h.Done(), "another has ended too")
					}
					over = true
				})
			})
		}
	}
}

// TestStopBeforeStart: the function of a coroutine that has not started is not
// called, whether it is in the run queue or on its way; joiners wake, and its
// inherited locals are dropped.
func TestStopBeforeStart(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	dropped := 0
	l := NewLocal(LocalOptions[int]{Inherit: func(p *int) int { return *p }, Drop: func(*int) {
		dropped++
	}})
	hooked := false
	defer AddHooks(Hooks{Start: func() { hooked = true }})()
	never := func() { t.Error("it was called") }
	on(plain, func(ex *Executor) {
		l.Set(1)
		hooked = false
		queued := ex.Spawn(Spawn{Fn: never}).Handle()
		queued.Stop()
		made := Make(ex, &Spawn{Fn: never})
		made.Handle().Stop()
		unadopted := Make(nil, &Spawn{Fn: never})
		unadopted.Handle().Stop()
		handles := []Handle{queued, made.Handle(), unadopted.Handle()}
		ex.Adopt(made)
		ex.Adopt(unadopted)
		for _, h := range handles {
			err := h.Join()
			testenv.True(t, err == nil && h.Done(), "%v", err)
		}
		testenv.True(t, dropped == 3 && !hooked, "dropped %d, hooks called %t", dropped, hooked)
		ran := false
		ex.Spawn(Spawn{Fn: func() { ran = true; sleep(1) }}).Handle().Join() // its next incarnation
		testenv.True(t, ran, "a later incarnation was ended")
	})
}

// TestStopNamesAnIncarnation: a Handle of an earlier incarnation does not stop
// the next one.
func TestStopNamesAnIncarnation(t *testing.T) {
	on(plain, func(ex *Executor) {
		for i := range 100 {
			first := ex.Spawn(Spawn{Fn: func() {}})
			old := first.Handle()
			if i%2 == 0 {
				old.Stop()
			}
			old.Join()
			ran := false
			second := ex.Spawn(Spawn{Fn: func() {
				sleep(time.Microsecond)
				sleep(time.Microsecond)
				ran = true
			}})
			if first != second {
				t.Fatal("not the same struct")
			}
			h := second.Handle()
			old.Stop()
			Yield()
			old.Stop()
			done := make(chan struct{})
			go func() { old.Stop(); close(done) }()
			testenv.NoError(t, h.Join())
			if <-done; !ran {
				t.Fatal("the later incarnation was ended")
			}
		}
	})
	Handle{}.Stop()
}

// TestStopSelf: a coroutine may stop itself; it runs to its next wait, and no
// further, also where a Yield would just switch.
func TestStopSelf(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for _, c := range configs {
		for name, wait := range map[string]func(){"Yield": Yield, "park": func() {
			sleep(time.Hour)
		}} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				on(c.Config, func(ex *Executor) {
					over := false
					for range 2 {
						ex.Spawn(Spawn{Fn: func() {
							for !over {
								Yield()
							}
						}})
					}
					for range 10 {
						steps := 0
						ex.Spawn(Spawn{Fn: func() {
							for range 10 {
								Yield()
							}
							Current().Handle().Stop()
							steps++
							defer func() { steps++ }()
							wait()
							steps = -1
						}}).Handle().Join()
						testenv.Equal(t, steps, 2)
					}
					over = true
				})
			})
		}
	}
}

// TestStopKeepsWake: a wake that came first stands, the wait after it ends.
func TestStopKeepsWake(t *testing.T) {
	on(plain, func(ex *Executor) {
		var got []Wake
		co := ex.Spawn(Spawn{Fn: func() {
			got = append(got, Current().Park(ReasonUser), Current().Park(ReasonUser))
		}})
		Yield()
		ex.MakeReady(co, co.Ticket(), WakeTimeout)
		co.Handle().Stop()
		co.Handle().Join()
		testenv.Equal(t, fmt.Sprint(got), fmt.Sprint([]Wake{WakeTimeout, WakeShutdown}))
	})
}

// shield is a coroutine that is stopped while it is in Shield, or before.
type shield struct {
	how         string
	co          *Coroutine
	begun, sent atomic.Bool // its wait; what ends that
}

func (s *shield) run(t *testing.T) {
	s.co = Current()
	if s.how == "stop before it" {
		s.co.Handle().Stop()
	}
	defer s.begun.Store(true)
	Shield(func() {
		for range 3 {
			Yield()
		}
		if s.how == "executor before it" {
			s.begun.Store(true)
			for !s.co.Executor().Stopping() {
				YieldTurn()
			}
		}
		Shield(func() {})
		testenv.True(t, !Stopping(), "stopping in it")
		go s.wake(s.co.Ticket())
		s.begun.Store(true)
		if why := s.co.Park(ReasonUser); why != WakeTimeout || !s.sent.Load() {
			t.Errorf("ended by %d, sent %t", why, s.sent.Load())
		}
	})
	testenv.Equal(t, s.co.Park(ReasonUser), WakeShutdown, "after it")
}

func (s *shield) wake(ticket uint64) {
	if s.how == "stop in it" {
		s.co.Handle().Stop()
	}
	for !s.sent.Load() {
		runtime.Gosched()
	}
	s.co.MakeReady(ticket, WakeTimeout)
}

// TestShield: neither Stop nor the executor's end by force ends a wait in it,
// but both do right after it.
func TestShield(t *testing.T) {
	for _, how := range []string{"stop in it", "stop before it", "executor", "executor before it"} {
		t.Run(how, func(t *testing.T) {
			th := newThread(plain)
			s := &shield{how: how}
			h := th.spawn(func() { s.run(t) })
			testenv.Until(t, "it waits", s.begun.Load)
			var stops sync.WaitGroup
			stop := th.stop
			if strings.HasPrefix(how, "executor") {
				stop = func() {}
				stops.Go(th.stopByForce)
			}
			for range 100 {
				runtime.Gosched()
			}
			time.AfterFunc(time.Millisecond, func() { s.sent.Store(true) })
			h.Join()
			stops.Wait()
			stop()
		})
	}
	calls := 0
	Shield(func() { calls++ }) // an ordinary goroutine
	testenv.Equal(t, calls, 1, "not called")
}

// stopHammer starts coroutines on two threads and stops most of them.
type stopHammer struct {
	t       *testing.T
	threads []*thread
	stopped chan Handle // those to be stopped

	spared, ended, unwound atomic.Int64
}

// stop stops what is to be stopped, and once more later.
func (h *stopHammer) stop() {
	var late []Handle
	for x := range h.stopped {
		x.Stop()
		late = append(late, x)
		if len(late) == 16 {
			for _, x := range late {
				x.Stop()
			}
			late = late[:0]
		}
	}
}

// body is what a coroutine runs; mine says that it is to be stopped.
func (h *stopHammer) body(seed uint64, mine bool) {
	defer h.ended.Add(1)
	r := rand.New(rand.NewPCG(seed, 7))
	co := Current()
	defer func() {
		if Stopping() {
			h.unwound.Add(1)
			testenv.True(h.t, mine, "stopped, but not by this test")
		}
	}()
	for i := 0; mine || i < 4; i++ { // those to be stopped never end otherwise
		switch r.IntN(5) {
		case 0:
			Yield()
		case 1:
			YieldTurn()
		case 2:
			co.MakeReady(co.Ticket(), WakeReady)
			co.Park(ReasonUser)
		case 3:
			ticket := co.Ticket()
			go co.MakeReady(ticket, WakeReady)
			if co.Park(ReasonUser) == WakeShutdown {
				return
			}
		case 4:
			sleep(time.Duration(r.IntN(20)) * time.Microsecond)
		}
	}
}

// start starts at least n coroutines, until one is unwound, and returns how
// many.
func (h *stopHammer) start(n int) (total int) {
	var handles []Handle
	for i := 0; i < n || h.unwound.Load() == 0 && i < 100*n; i++ {
		total++
		mine := i%4 != 0
		if !mine {
			h.spared.Add(1)
		}
		x := h.threads[i%2].spawn(func() { h.body(uint64(i), mine) })
		if mine {
			h.stopped <- x
		}
		handles = append(handles, x)
		if len(handles) == 256 {
			for _, x := range handles {
				testenv.NoError(h.t, x.Join())
			}
			handles = handles[:0]
		}
	}
	return total
}

// TestStopHammer: coroutines start, park, are woken and end, on threads of
// their own, while others stop them, often several times and late. All stopped
// coroutines end, with their deferred calls, and no others.
func TestStopHammer(t *testing.T) {
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			h := &stopHammer{
				t: t, stopped: make(chan Handle, 64),
				threads: []*thread{newThread(c.Config), newThread(c.Config)},
			}
			var stoppers sync.WaitGroup
			for range 2 {
				stoppers.Go(h.stop)
			}
			total := h.start(testenv.Rounds(100_000))
			close(h.stopped)
			stoppers.Wait()
			for _, th := range h.threads {
				th.stop()
			}
			ended, spared, unwound := h.ended.Load(), h.spared.Load(), h.unwound.Load()
			testenv.True(t, ended >= spared && ended <= int64(total) && unwound <= ended-spared,
				"%d ended of %d spared and %d in all, %d unwound", ended, spared, total, unwound)
			testenv.True(t, unwound != 0, "none was stopped while it ran")
		})
	}
}
