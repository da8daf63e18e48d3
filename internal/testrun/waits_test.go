package testrun_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// scene is something that several wait for in the same way: in wait, without a
// bound, in timeout and in context, as far as there is such a wait. Each
// returns nil when it has got what it waited for, and given it back.
type scene struct {
	wait    func() error
	timeout func(time.Duration) error
	context func(context.Context) error
	release func()       // ends all the waits, one after the other
	over    func() error // reports what stayed behind, when all have gone; may be nil
}

// waits has all that waits for another coroutine, and some that do not. Each
// can be stopped; odd says what is otherwise than for most: wait "returns" an
// error when it is ended, and does not unwind, or does "either"; context "asks"
// its context before it takes what is there; it "ends" with the Scheduler, for
// goroutines too; a goroutine runs it "there", and cannot leave it; make
// "starts" a coroutine; they go by the "clock".
var waits = []struct {
	name, odd string
	make      func(t *testing.T) scene
}{
	{"Mutex", "", func(t *testing.T) scene {
		var m sync.Mutex
		m.Lock()
		return locked(m.Lock, m.LockTimeout, m.LockContext, m.Unlock, m.Unlock, m.TryLock)
	}},
	{"RWMutex, writers", "", func(t *testing.T) scene {
		var m sync.RWMutex
		m.RLock()
		s := locked(m.Lock, m.LockTimeout, m.LockContext, m.Unlock, m.RUnlock, m.TryLock)
		s.over = free(m.TryLock, m.Unlock)
		return s
	}},
	{"RWMutex, readers", "", func(t *testing.T) scene {
		var m sync.RWMutex
		m.Lock()
		s := locked(m.RLock, m.RLockTimeout, m.RLockContext, m.RUnlock, m.Unlock, m.TryRLock)
		s.over = free(m.TryLock, m.Unlock)
		return s
	}},
	{"Semaphore", "", func(t *testing.T) scene {
		s := sync.NewSemaphore(3)
		s.Acquire(3)
		return locked(func() { s.Acquire(2) },
			func(d time.Duration) error { return s.AcquireTimeout(2, d) },
			func(ctx context.Context) error { return s.AcquireContext(ctx, 2) },
			func() { s.Release(2) }, func() { s.Release(3) },
			func() bool { return s.TryAcquire(3) && try(s.Release, 1) })
	}},
	{"Cond", "", cond},
	{"WaitGroup", "", func(t *testing.T) scene {
		var wg sync.WaitGroup
		wg.Add(1)
		return scene{func() error { wg.Wait(); return nil }, wg.WaitTimeout, wg.WaitContext,
			wg.Done, nil}
	}},
	{"Future", "returns", func(t *testing.T) scene {
		f := sync.NewFuture[int]()
		return scene{
			func() error { return testenv.Err(f.Get()) },
			func(d time.Duration) error { return testenv.Err(f.GetTimeout(d)) },
			func(ctx context.Context) error { return testenv.Err(f.GetContext(ctx)) },
			func() { f.Set(1) }, nil,
		}
	}},
	{"Once", "ends", func(t *testing.T) scene {
		var o sync.Once
		c, running := channel.Make[int](0), make(chan struct{})
		onFirst(func() { o.Do(func() { close(running); c.Recv() }) })
		<-running
		return scene{wait: func() error { o.Do(func() { c.Recv() }); return nil }, release: c.Close}
	}},
	{"Wait", "returns asks", func(t *testing.T) scene {
		ctx, cancel := context.WithCancel(context.Background())
		return scene{wait: func() error {
			if err := sync.Wait(ctx); err != context.Canceled {
				return err
			}
			return nil
		}, release: cancel}
	}},
	{"errgroup", "returns", func(t *testing.T) scene {
		var g errgroup.Group
		c := channel.Make[int](0)
		g.Go(func() error { c.Recv(); return nil })
		return scene{g.Wait, g.WaitTimeout, g.WaitContext, c.Close, nil}
	}},
	{"Join", "returns ends", func(t *testing.T) scene {
		c := channel.Make[int](0)
		return scene{wait: onFirst(func() { c.Recv() }).Join, release: c.Close}
	}},
	{"channel, send", "", send},
	{"channel, receive", "", func(t *testing.T) scene { return receive(channel.Make[int](1)) }},
	{"channel, one Processor's own", "starts", func(t *testing.T) scene {
		c := channel.Make[int](1)
		onFirst(func() {
			for range 100 {
				c.RecvTimeout(1) // which also leaves a waiter for the next
			}
		}).Join()
		return receive(c)
	}},
	{"Select", "", selects},
	{"Timer", "clock", timer},
	{"Timers, Select", "clock", timers},
	{"Ticker", "clock", func(t *testing.T) scene {
		k := netco.NewTicker(time.Hour)
		return scene{wait: func() error { k.C.Recv(); return nil },
			context: func(ctx context.Context) error { return testenv.Err(k.C.RecvContext(ctx)) },
			release: func() { k.Reset(time.Microsecond) }}
	}},
	{"Sleep", "clock", func(t *testing.T) scene {
		var short atomic.Bool
		return scene{wait: func() error {
			for !short.Load() {
				netco.Sleep(10 * time.Millisecond)
			}
			return nil
		}, release: func() { short.Store(true) }}
	}},
	{"blocking", "returns asks there", pooled},
	{"Poll", "returns ends", poll},
	{"Read", "either ends", read},
}

// locked is the scene of a lock that is held, which release gives back first.
func locked(lock func(), timeout func(time.Duration) error, ctx func(context.Context) error,
	unlock, release func(), tryLock func() bool) scene {
	back := func(err error) error {
		if err == nil {
			unlock()
		}
		return err
	}
	return scene{
		func() error { lock(); return back(nil) },
		func(d time.Duration) error { return back(timeout(d)) },
		func(c context.Context) error { return back(ctx(c)) },
		release, free(tryLock, unlock),
	}
}

// free reports whether a lock can be had.
func free(try func() bool, unlock func()) func() error {
	return func() error {
		if !try() {
			return errors.New("it is still locked")
		}
		unlock()
		return nil
	}
}

// try calls f and is true.
func try[T any](f func(T), v T) bool { f(v); return true }

// onFirst starts f on the first Processor.
func onFirst(f func()) netco.Handle { return testenv.Must(testrun.GoOn(0, f)) }

func cond(t *testing.T) scene {
	var m sync.Mutex
	c, ready := sync.NewCond(&m), false
	wait := func(wait func() error) (err error) {
		m.Lock()
		defer m.Unlock() // panics if wait has not locked it
		for !ready && err == nil {
			err = wait()
		}
		return err
	}
	return scene{
		func() error { return wait(func() error { c.Wait(); return nil }) },
		func(d time.Duration) error { return wait(func() error { return c.WaitTimeout(d) }) },
		func(ctx context.Context) error { return wait(func() error { return c.WaitContext(ctx) }) },
		func() { m.Lock(); ready = true; m.Unlock(); c.Broadcast() }, free(m.TryLock, m.Unlock),
	}
}

func send(t *testing.T) scene {
	c := channel.Make[int](1)
	c.Send(0)
	back := func(err error) error {
		if err == nil {
			c.Recv() // room for the next one
		}
		return err
	}
	return scene{
		func() error { c.Send(1); return back(nil) },
		func(d time.Duration) error { return back(c.SendTimeout(1, d)) },
		func(ctx context.Context) error { return back(c.SendContext(ctx, 1)) },
		func() { c.Recv() },
		func() error {
			if c.Len() != 0 {
				return errors.New("a value stayed behind")
			}
			return nil
		},
	}
}

func receive(c *channel.Chan[int]) scene {
	back := func(_ int, err error) error {
		if err == nil {
			c.Send(1) // the next one's
		}
		return err
	}
	return scene{
		func() error { v, _ := c.Recv(); return back(v, nil) },
		func(d time.Duration) error { return back(c.RecvTimeout(d)) },
		func(ctx context.Context) error { return back(c.RecvContext(ctx)) },
		func() { c.Send(1) },
		func() error {
			if c.Len() != 1 {
				return errors.New("the token is gone")
			}
			return nil
		},
	}
}

func selects(t *testing.T) scene {
	a, b := channel.Make[int](0), channel.Make[int](0)
	var none *channel.Chan[int]
	end := func(i int, err error) error {
		if i >= 0 && err == channel.ErrClosed {
			return nil
		}
		return err
	}
	return scene{
		func() error {
			return end(channel.Select(a.RecvCase(new(int)), b.SendCase(1), none.RecvCase(nil)))
		},
		func(d time.Duration) error {
			return end(channel.SelectTimeout(d, a.RecvCase(new(int)), b.SendCase(1)))
		},
		func(ctx context.Context) error {
			return end(channel.SelectContext(ctx, a.RecvCase(new(int)), b.SendCase(1)))
		},
		a.Close,
		func() error {
			if _, _, done := b.TryRecv(); done {
				return errors.New("a case stayed behind")
			}
			return nil
		},
	}
}

func timer(t *testing.T) scene {
	timer := netco.NewTimer(time.Hour)
	next := func(_ time.Time, err error) error {
		if err == nil {
			timer.Reset(0) // the next one's
		}
		return err
	}
	return scene{wait: func() error { v, _ := timer.C.Recv(); return next(v, nil) },
		timeout: func(d time.Duration) error { return next(timer.C.RecvTimeout(d)) },
		context: func(ctx context.Context) error { return next(timer.C.RecvContext(ctx)) },
		release: func() { timer.Reset(0) }}
}

func timers(t *testing.T) scene {
	timer, never := netco.NewTimer(time.Hour), netco.After(math.MaxInt64)
	next := func(i int, err error) error {
		if err == nil {
			testenv.Equal(t, i, 1, "case")
			timer.Reset(0) // the next one's
		}
		return err
	}
	return scene{
		wait: func() error {
			return next(channel.Select(never.RecvCase(nil), timer.C.RecvCase(nil)))
		},
		timeout: func(d time.Duration) error {
			return next(channel.SelectTimeout(d, never.RecvCase(nil), timer.C.RecvCase(nil)))
		},
		release: func() { timer.Reset(0) },
	}
}

func pooled(t *testing.T) scene {
	p := new(blocking.Pool)
	testenv.NoError(t, p.SetLimit(20))
	c := make(chan int)
	return scene{
		wait:    func() error { return p.Do(context.Background(), func() { <-c }) },
		context: func(ctx context.Context) error { return p.Do(ctx, func() { <-c }) },
		release: func() { close(c) },
		over: func() error {
			for p.Stats().Running != 0 { // those left behind end too
				runtime.Gosched()
			}
			return nil
		},
	}
}

const pollIn = 1 // POLLIN

func poll(t *testing.T) scene {
	var p [2]int
	testenv.NoError(t, syscall.Pipe(p[:]))
	t.Cleanup(func() { syscall.Close(p[0]) })
	return scene{wait: func() error {
		n, err := socket.Poll([]socket.PollFd{{Fd: int32(p[0]), Events: pollIn}}, -1)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d events", n)
		}
		return err
	}, release: func() { syscall.Close(p[1]) }}
}

func read(t *testing.T) scene {
	l := testenv.Must(new(socket.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	peer := testenv.Must(net.Dial("tcp", l.Addr().String()))
	c := testenv.Must(l.Accept())
	t.Cleanup(func() { c.Close(); l.Close() })
	return scene{wait: func() error {
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			return err
		}
		return nil
	}, release: func() { peer.Close() }}
}

// bounds are what ends a wait, and its error.
var bounds = []struct {
	name string
	end  func(s *scene) error
	want error
}{
	{"a negative timeout", func(s *scene) error { return s.timeout(-1) }, os.ErrDeadlineExceeded},
	{"a timeout of 0", func(s *scene) error { return s.timeout(0) }, os.ErrDeadlineExceeded},
	{"1 ns", func(s *scene) error { return s.timeout(1) }, os.ErrDeadlineExceeded},
	{"1 ms", func(s *scene) error { return s.timeout(time.Millisecond) }, os.ErrDeadlineExceeded},
	{"a context that is over", func(s *scene) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errors.New("why"))
		return s.context(ctx)
	}, context.Canceled},
	{"a context that ends", func(s *scene) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		return s.context(ctx)
	}, context.DeadlineExceeded},
	{"a context that is cancelled", func(s *scene) error {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		return s.context(ctx)
	}, context.Canceled},
	{"an hour", func(s *scene) error { return s.timeout(time.Hour) }, nil},
	{"a context that never ends", func(s *scene) error {
		return s.context(context.Background())
	}, nil},
}

// bounded calls f for each bound that s has.
func (s *scene) bounded(f func(name string, end func() error, want error)) {
	for _, b := range bounds {
		if strings.Contains(b.name, "context") && s.context == nil ||
			!strings.Contains(b.name, "context") && s.timeout == nil {
			continue
		}
		f(b.name, func() error { return b.end(s) }, b.want)
	}
}
