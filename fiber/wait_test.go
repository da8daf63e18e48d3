package fiber_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/sync"
)

type (
	numbers = coroutine.Fiber[int, int]
	yielder = coroutine.Yielder[int, int]
)

// start starts the default scheduler for a test, which ends it.
func start(t testing.TB, o netco.Options) {
	t.Helper()
	testenv.OK(t, netco.Start(o))
	t.Cleanup(func() {
		testenv.NoError(t, netco.Shutdown(context.Background()))
	})
}

// total yields the sum of what it has been given; at a negative number it ends
// with that.
func total(y *yielder, in int) int {
	sum := 0
	for in >= 0 {
		sum += in
		in, _ = y.Yield(sum)
	}
	return in
}

// echoFiber returns a fiber that sends each value over c and reads it back.
func echoFiber(t *testing.T, c io.ReadWriter) numbers {
	self := netco.Self()
	return coroutine.New(func(y *yielder, in int) int {
		buf := make([]byte, 1)
		for in >= 0 {
			testenv.Equal(t, netco.Self(), self,
				"a coroutine driven by hand is another than the one that resumes it")
			c.Write([]byte{byte(in)})
			_, err := io.ReadFull(c, buf)
			testenv.NoError(t, err)
			in, _ = y.Yield(int(buf[0]))
		}
		return -1
	})
}

// waitingFiber returns a fiber that waits in other ways: for mu, under which it
// counts shared, to sleep, for another coroutine and, in inner, to read.
func waitingFiber(t *testing.T, mu *sync.RWMutex, shared *int, inner numbers) numbers {
	self := netco.Self()
	return coroutine.New(func(y *yielder, in int) int {
		for in >= 0 {
			mu.Lock()
			*shared++
			netco.Yield()
			mu.Unlock()
			netco.Sleep(time.Duration(in%10) * time.Microsecond)
			h, err := netco.Go(func() { netco.Yield() })
			testenv.True(t, err == nil && h.Join() == nil, "Go and Join: %v", err)
			testenv.Fails(t, self.Join(), netco.ErrJoinSelf)
			got, err := inner.Resume(in)
			testenv.NoError(t, err)
			in, _ = y.Yield(got)
		}
		return -1
	})
}

// TestFibersWait: a wait inside a Fiber parks the coroutine that has resumed
// it, any coroutine, and other coroutines run.
func TestFibersWait(t *testing.T) {
	start(t, netco.Options{Processors: 2})
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	testenv.OK(t, err)
	var mu sync.RWMutex
	shared := 0
	rounds := testenv.Rounds(100)
	client := func() {
		c, err := netco.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		inner := echoFiber(t, c)
		outer := waitingFiber(t, &mu, &shared, inner)
		for i := range rounds {
			testenv.Gives(t, i%200, nil, "round", i)(outer.Resume(i % 200))
			netco.Yield()
		}
		testenv.Gives(t, -1, nil, "the end")(outer.Resume(-1))
		testenv.Gives(t, -1, nil, "the end")(inner.Resume(-1))
	}
	const clients = 8
	testenv.NoError(t, netco.Run(func() {
		for range clients {
			netco.Go(client)
			c, err := ln.Accept()
			testenv.NoError(t, err)
			netco.Go(func() { defer c.Close(); io.Copy(c, c) })
		}
		ln.Close()
	}))
	testenv.Equal(t, shared, clients*rounds, "counted under the lock")
}

// step runs do on Processor i.
func step(t *testing.T, i int, do func()) {
	t.Helper()
	h, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i), Fn: do})
	testenv.True(t, err == nil && h.Join() == nil, "%v", err)
}

// expects returns a function that resumes *f and compares.
func expects(t *testing.T, f *numbers) func(in, want int, wantErr error) func() {
	return func(in, want int, wantErr error) func() {
		return func() {
			t.Helper()
			testenv.Gives(t, want, wantErr, "Resume", in)(f.Resume(in))
		}
	}
}

// TestFiberInUse: while one coroutine waits inside a Fiber, another of the same
// Processor gets ErrRunning, and the wait is not disturbed.
func TestFiberInUse(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	start(t, netco.Options{Processors: 2})
	var f numbers
	expect := expects(t, &f)
	step(t, 0, func() {
		inside, tries := false, 0
		f = coroutine.New(func(y *yielder, in int) int {
			for {
				inside = true
				for again := true; again; again = tries < 3 { // till the other has tried
					netco.Sleep(2 * time.Millisecond)
				}
				inside = false
				in, _ = y.Yield(in)
			}
		})
		a, _ := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			expect(5, 5, nil)()
			expect(6, 6, nil)()
		}})
		b, _ := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			for tries < 3 {
				if inside {
					tries++
					expect(9, 0, coroutine.ErrRunning)()
					testenv.Equal(t, f.Cancel(), coroutine.ErrRunning, "Cancel")
					testenv.Equal(t, f.Status(), coroutine.StatusNormal, "seen from another it is")
				}
				netco.Yield()
			}
		}})
		a.Join()
		b.Join()
		testenv.NoError(t, f.Cancel())
	})
}

// TestFibersDropped: Fibers that nothing can resume are cancelled on their
// Processor, where their deferred calls may park; a Fiber that waits for long,
// or panics, holds up no other.
func TestFibersDropped(t *testing.T) {
	var panics atomic.Int32
	start(t, netco.Options{Processors: 2, OnPanic: func(info netco.PanicInfo) {
		var e *coroutine.PanicError
		if err, ok := info.Value.(error); ok && errors.As(err, &e) && e.Value == "planned" {
			panics.Add(1)
		} else {
			t.Errorf("%v", info.Value)
		}
	}})
	n := testenv.Rounds(5000)
	var ended, wrong, planned atomic.Int32
	goroutines := runtime.NumGoroutine()
	netco.Run(func() {
		for p := range 2 {
			netco.GoWith(netco.Spawn{On: netco.OnProcessor(p), Fn: func() {
				here := coroutine.CurrentExecutor()
				for i := range n {
					coroutine.New(func(y *yielder, in int) int {
						defer func() {
							if coroutine.CurrentExecutor() != here || netco.Self().ID() == 0 {
								wrong.Add(1)
							}
							switch i % 50 {
							case 0:
								planned.Add(1)
								ended.Add(1)
								panic("planned")
							case 1:
								netco.Sleep(100 * time.Millisecond)
							case 2:
								netco.Yield()
							}
							ended.Add(1)
						}()
						y.Yield(0)
						return 0
					}).Resume(0)
					if i%100 == 0 {
						netco.Yield()
					}
				}
			}})
		}
	})
	testenv.Until(t, "all to end", func() bool {
		runtime.GC()
		return ended.Load() == int32(2*n) && panics.Load() == planned.Load()
	})
	testenv.True(t, ended.Load() == int32(2*n) && wrong.Load() == 0 && planned.Load() != 0,
		"%d of %d have ended, %d elsewhere; %d of %d panics", ended.Load(), 2*n, wrong.Load(),
		panics.Load(), planned.Load())
	// An idle Processor keeps at most as many goroutines as its pool holds; its
	// end ends those.
	if got := runtime.NumGoroutine(); got > goroutines+2*2*1024+100 {
		t.Errorf("%d goroutines are left, of %d", got, goroutines)
	}
}

// atShutdown are fibers of two Processors that a Shutdown ends, and counts of
// what they have done.
type atShutdown struct {
	t                                 *testing.T
	suspended, inside, unwound, after atomic.Int32
	keep                              [2][]numbers
}

// suspend makes 100 fibers that are suspended, and as many that have not begun.
func (a *atShutdown) suspend(p int) {
	for range 100 {
		f := coroutine.New(func(y *yielder, in int) int {
			defer a.suspended.Add(1)
			defer netco.Sleep(time.Hour) // which unwinds at once
			y.Yield(0)
			return 0
		})
		f.Resume(0)
		a.keep[p] = append(a.keep[p], f, coroutine.New(func(*yielder, int) int { return 0 }))
	}
}

// wait waits in depth fibers, one within the other, until all are unwound.
func (a *atShutdown) wait(depth int) {
	f := coroutine.New(func(*yielder, int) int {
		defer a.unwound.Add(1)
		if depth > 1 {
			a.wait(depth - 1)
		} else {
			a.inside.Add(1)
		}
		netco.Sleep(time.Hour)
		return 0
	})
	testenv.Fails(a.t, testenv.Err(f.Resume(0)), coroutine.ErrGoexit, "Resume of one unwound")
}

// allDead checks that none can be resumed after the end.
func (a *atShutdown) allDead() {
	for p := range a.keep {
		for i, f := range a.keep[p] {
			_, err := f.Resume(0)
			testenv.True(a.t, err == coroutine.ErrDead || err == coroutine.ErrWrongThread &&
				i%2 != 0, "Resume after the end: %v", err)
		}
	}
}

// TestFibersAtShutdown: suspended Fibers run their deferred calls, whatever
// still refers to them, and Fibers inside them are unwound.
func TestFibersAtShutdown(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	for _, force := range []bool{false, true} {
		testenv.OK(t, netco.Start(netco.Options{Processors: 2, LockThreads: force}))
		e := &atShutdown{t: t}
		for p := range 2 {
			step(t, p, func() { e.suspend(p) })
		}
		ctx, unwound, after := context.Background(), int32(0), int32(0)
		if force {
			for i := range 20 {
				netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
					defer e.after.Add(1)
					e.wait(2)
				}})
			}
			testenv.Until(t, "all to wait", func() bool { return e.inside.Load() == 20 })
			ctx, unwound, after = testenv.Over(), 40, 20
		}
		testenv.Fails(t, netco.Shutdown(ctx), ctx.Err(), "Shutdown")
		// Shutdown may have gone before a slow thread has unwound all.
		testenv.Until(t, "all to be unwound", func() bool {
			runtime.GC()
			return e.suspended.Load() >= 200 && e.unwound.Load() >= unwound &&
				e.after.Load() >= after
		})
		testenv.Equal(t, e.suspended.Load(), 200, "force", force, "suspended ones' deferred calls")
		testenv.Equal(t, e.unwound.Load(), unwound, "force", force, "unwound inside")
		testenv.Equal(t, e.after.Load(), after, "force", force, "unwound around them")
		e.allDead()
		testenv.Settle(t, goroutines)
	}
}

// TestFibersNotResumedAtShutdown: Fibers that reuse goroutines, and were never
// resumed, leave no goroutine behind, whatever still refers to them.
func TestFibersNotResumedAtShutdown(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
	var made []numbers
	step(t, 0, func() {
		for range 3 {
			made = append(made, coroutine.New(total))
			made[len(made)-1].Resume(0)
		}
		for i, f := range made {
			f.Resume(-1)
			made[i] = coroutine.New(total)
		}
	})
	testenv.OK(t, netco.Shutdown(context.Background()))
	testenv.Settle(t, goroutines)
	for _, f := range made {
		testenv.Equal(t, f.Status(), coroutine.StatusDead)
	}
}
