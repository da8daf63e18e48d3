package blocking_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

var errOwn = errors.New("own")

// TestResults: every function of the package brings back what its argument
// returns, in every place.
func TestResults(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 2)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	pair := func() (int, error) { return 42, errOwn }
	set := func(n *int) func() { return func() { *n = 42 } }
	for _, c := range []struct {
		name string
		call func() (int, error)
		want error
	}{
		{"Do", func() (n int, err error) { err = blocking.Do(bg, set(&n)); return }, nil},
		{"Do until", func() (n int, err error) { err = blocking.Do(ctx, set(&n)); return }, nil},
		{"Pool.Do", func() (n int, err error) { err = p.Do(bg, set(&n)); return }, nil},
		{"Pool.Do until", func() (n int, err error) { err = p.Do(ctx, set(&n)); return }, nil},
		{"Call", func() (int, error) { return blocking.Call(bg, pair) }, errOwn},
		{"Call until", func() (int, error) { return blocking.Call(ctx, pair) }, errOwn},
	} {
		for _, where := range testrun.Places {
			where.Do(t, func() {
				for range 3 {
					testenv.Gives(t, 42, c.want, c.name, "on a", where.Name)(c.call())
				}
			})
		}
	}
}

// TestWhere: for a coroutine the function runs on another goroutine, which is
// an ordinary one, while the Processor runs others; for a goroutine it runs in
// place.
func TestWhere(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 2)
	for _, where := range testrun.Places {
		where.Do(t, func() {
			mine, its := goroutine(), ""
			testenv.NoError(t, p.Do(bg, func() {
				its = goroutine()
				testenv.Equal(t, netco.Self().ID(), 0, where.Name,
					"the function runs on a coroutine")
			}))
			testenv.Equal(t, mine == its, (where.Name == testrun.Goroutine.Name), where.Name,
				"in place is")
		})
	}
	g, k := occupy(t, p)
	testrun.First.Go(func() {}).Wait(t) // the Processor is free
	close(g.opened)
	k.Wait(t)
}

// TestNested: a function that is run calls the pool it runs on, which is at its
// limit.
func TestNested(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	for _, where := range testrun.Places {
		where.Do(t, func() {
			n, err := callOn(bg, p, func() (n int, err error) {
				outer := goroutine()
				err = p.Do(context.Background(), func() {
					err := p.Do(bg, func() {
						n = 3
						testenv.Equal(t, goroutine(), outer, where.Name,
							"a nested call left its goroutine")
					})
					testenv.NoError(t, err)
				})
				return n, err
			})
			if n != 3 || err != nil {
				t.Errorf("%s: %d, %v", where.Name, n, err)
			}
		})
	}
}

// TestLockOSThread: a function may lock its thread and has it to the end,
// whatever it waits for; its coroutine parks and is woken as ever.
func TestLockOSThread(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 2)
	for _, where := range testrun.Coroutines {
		where.Do(t, func() {
			for range 50 {
				testenv.NoError(t, p.Do(bg, func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					thread := syscall.Gettid()
					c := make(chan int)
					go func() { c <- syscall.Gettid() }()
					if <-c == thread {
						t.Error("the thread was lent out")
					}
					p.Do(bg, runtime.Gosched)
					testenv.Equal(t, syscall.Gettid(), thread, "the thread has changed")
				}))
			}
		})
	}
}

// TestAllocation: what a call allocates is what its documentation says.
func TestAllocation(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	testrun.Start(t, 1)
	p := pool(t, 2)
	for name, call := range map[string]func(){
		"Do": func() { p.Do(bg, func() {}) }, "Stats": func() { p.Stats() },
	} {
		testrun.First.Do(t, func() {
			testenv.Equal(t, testing.AllocsPerRun(300, call), 0, name, "allocations")
		})
	}
}

// TestContextDoneBefore: the function is not started, wherever.
func TestContextDoneBefore(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errOwn)
	for _, where := range testrun.Places {
		where.Do(t, func() {
			ran := false
			if err := p.Do(ctx, func() { ran = true }); err != context.Canceled || ran {
				t.Errorf("Do on a %s: %v, ran: %v", where.Name, err, ran)
			}
		})
	}
}

// TestContextDoneQueued: calls whose context is done leave the queue, from the
// middle too, and are never started. Others keep their order.
func TestContextDoneQueued(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g, k := occupy(t, p)
	var turns []int
	const n = 7
	var tasks []*testrun.Task
	var cancels []context.CancelFunc
	leaves := func(i int) bool { return i == 0 || i == 3 || i == 4 || i == n-1 }
	for i := range n {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k := testrun.Coroutines[i%2].Go(func() {
			err := p.Do(ctx, func() { turns = append(turns, i) })
			if want := leaves(i); errors.Is(err, context.Canceled) != want || err == nil == want {
				t.Errorf("call %d: %v", i, err)
			}
		})
		k.UntilParked(t, coroutine.ReasonBlocking)
		tasks, cancels = append(tasks, k), append(cancels, cancel)
	}
	left := 0
	for i := range n {
		if leaves(i) {
			cancels[i]()
			tasks[i].Wait(t)
			left++
			exact(t, p, blocking.Stats{Running: 1, Queued: n - left}, "have left", left)
		}
	}
	close(g.opened)
	k.Wait(t)
	testrun.WaitAll(t, tasks...)
	if !slices.Equal(turns, []int{1, 2, 5}) || p.Stats().Done != 4 {
		t.Errorf("turns %v, %+v", turns, p.Stats())
	}
}

// held is a context that notifies no one of its end: only Err shows it.
type held struct {
	context.Context
	err atomic.Pointer[error]
}

func (h *held) Err() error {
	if e := h.err.Load(); e != nil {
		return *e
	}
	return nil
}

// TestContextDoneUntold: a call whose context was done while it was queued is
// not started, even if its caller has not heard of it when its turn comes.
func TestContextDoneUntold(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g, k := occupy(t, p)
	ctx := &held{Context: context.Background()}
	ran := false
	queued := testrun.Second.Park(t, coroutine.ReasonBlocking, func() {
		testenv.Equal(t, p.Do(ctx, func() { ran = true }), errOwn, "Do")
	})
	ctx.err.Store(&errOwn)
	close(g.opened)
	k.Wait(t)
	queued.Wait(t)
	if s := p.Stats(); ran || s.Done != 1 {
		t.Errorf("ran: %v, %+v", ran, s)
	}
}

// TestContextDoneRunning: the caller returns, with no results, and the function
// goes on; what it returns is dropped.
func TestContextDoneRunning(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 2)
	for _, where := range testrun.Coroutines {
		for _, how := range []struct {
			name string
			make func() (context.Context, context.CancelFunc)
			want error
		}{
			{"cancel", func() (context.Context, context.CancelFunc) {
				return context.WithCancel(context.Background())
			}, context.Canceled},
			{"deadline", func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(context.Background(), time.Millisecond)
			}, context.DeadlineExceeded},
		} {
			before := p.Stats()
			ctx, cancel := how.make()
			entered, notified, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
			k := where.Go(func() {
				n, err := callOn(ctx, p, func() (int, error) {
					close(entered)
					<-ctx.Done()
					close(notified)
					<-end
					return 1, errOwn
				})
				if n != 0 || err != how.want {
					t.Errorf("%s: %d, %v, want 0, %v", how.name, n, err, how.want)
				}
				// The coroutine's next parks are its own.
				for range 100 {
					if n, err := callOn(bg, p, func() (int, error) {
						return 7, nil
					}); n != 7 || err != nil {
						t.Errorf("afterwards: %d, %v", n, err)
					}
				}
			})
			if how.want == context.Canceled {
				testenv.Await(t, entered, "the function")
				cancel()
			}
			k.Wait(t)
			select {
			case <-entered: // with the deadline it may have passed before the start
				testenv.Await(t, notified, "the function to hear of it")
				if s := p.Stats(); s.Abandoned != before.Abandoned+1 || s.Running != 1 {
					t.Errorf("%s: %+v", how.name, s)
				}
			default:
			}
			close(end)
			testenv.Until(t, "the function's end", func() bool { return p.Stats().Running == 0 })
			cancel()
		}
	}
}

// TestContextInPlace: on a goroutine the function is called in place, and
// cannot be abandoned.
func TestContextInPlace(t *testing.T) {
	p := pool(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	n, err := callOn(ctx, p, func() (int, error) {
		cancel()
		return 1, ctx.Err()
	})
	if n != 1 || err != context.Canceled {
		t.Errorf("%d, %v", n, err)
	}
}

// TestContextDoneLate: the context's call comes when the function has ended and
// its caller is in another call. That one is none of its business.
func TestContextDoneLate(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	ctx := &late{held: held{Context: context.Background()}, done: make(chan struct{})}
	g := newGate()
	k := testrun.First.Go(func() {
		testenv.Fails(t, p.Do(ctx, func() {}), nil, "Do")
		n, err := callOn(bg, p, func() (int, error) { g.pass(); return 1, nil })
		if n != 1 || err != nil {
			t.Errorf("the call after it: %d, %v", n, err)
		}
	})
	testenv.Await(t, g.entered, "the function")
	k.UntilParked(t, coroutine.ReasonBlocking)
	ctx.err.Store(&errOwn)
	ctx.call()
	close(g.opened)
	k.Wait(t)
}

// late is a context whose AfterFunc cannot be stopped: it is about to call.
type late struct {
	held
	done chan struct{}
	call func()
}

func (l *late) Done() <-chan struct{} { return l.done }

func (l *late) AfterFunc(f func()) func() bool {
	l.call = f
	return func() bool { return false }
}
