package netco_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// mustEnd fails the whole run with all stacks when a test that could hang has
// not ended in time.
func mustEnd(t testing.TB) {
	timer := time.AfterFunc(3*time.Minute, func() {
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		panic(t.Name() + ": it hangs")
	})
	t.Cleanup(func() { timer.Stop() })
}

// scene is something that several coroutines wait for in the same way.
type scene struct {
	wait    func() error // returns nil when it has got what it waited for, and given it back
	release func()       // lets all who wait go, one after the other
	over    func() error // reports what stayed behind, when all have gone; may be nil
}

// spared is how many wait and are not stopped.
const spared = 3

// scenes has all kinds of waits.
var scenes = map[string]func(t *testing.T) scene{
	"sleep": func(t *testing.T) scene {
		var short atomic.Bool
		return scene{wait: func() error {
			for !short.Load() {
				netco.Sleep(10 * time.Millisecond)
			}
			return nil
		}, release: func() { short.Store(true) }}
	},
	"sleep for long": func(t *testing.T) scene {
		end := channel.Make[int](0)
		return scene{wait: func() error {
			if _, ok, done := end.TryRecv(); done && !ok {
				return nil
			}
			for {
				if _, err := end.RecvTimeout(time.Hour); err != nil && err != channel.ErrClosed {
					return err
				} else if err != nil {
					return nil
				}
			}
		}, release: end.Close}
	},
	"mutex": func(t *testing.T) scene {
		var m sync.Mutex
		m.Lock()
		return scene{func() error {
			m.Lock()
			defer m.Unlock()
			return nil
		}, m.Unlock, free(m.TryLock, m.Unlock)}
	},
	"mutex with a bound": func(t *testing.T) scene {
		var m sync.Mutex
		m.Lock()
		return scene{func() error {
			err := m.LockTimeout(time.Hour)
			if err == nil {
				m.Unlock()
			}
			return err
		}, m.Unlock, free(m.TryLock, m.Unlock)}
	},
	"rwmutex, writers": func(t *testing.T) scene {
		var m rwmutex.RWMutex
		m.RLock()
		return scene{func() error {
			m.Lock()
			defer m.Unlock()
			return nil
		}, m.RUnlock, free(m.TryLock, m.Unlock)}
	},
	"rwmutex, readers": func(t *testing.T) scene {
		var m rwmutex.RWMutex
		m.Lock()
		return scene{func() error {
			m.RLock()
			defer m.RUnlock()
			return nil
		}, m.Unlock, free(m.TryLock, m.Unlock)}
	},
	"rwmutex, readers with a context": func(t *testing.T) scene {
		var m rwmutex.RWMutex
		m.Lock()
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return scene{func() error {
			err := m.RLockContext(ctx)
			if err == nil {
				m.RUnlock()
			}
			return err
		}, m.Unlock, free(m.TryLock, m.Unlock)}
	},
	"send": func(t *testing.T) scene {
		c := channel.Make[int](0)
		return scene{func() error { c.Send(1); return nil }, func() {
			for range spared {
				c.Recv()
			}
		}, func() error {
			if _, _, done := c.TryRecv(); done {
				return errors.New("a value stayed behind")
			}
			return nil
		}}
	},
	"receive": func(t *testing.T) scene {
		c := channel.Make[int](1)
		return scene{func() error {
			if _, ok := c.Recv(); ok {
				c.Send(1) // the next one's
			}
			return nil
		}, func() { c.Send(1) }, func() error {
			if c.Len() != 1 {
				return errors.New("the token is gone")
			}
			return nil
		}}
	},
	"select": func(t *testing.T) scene {
		a, b := channel.Make[int](0), channel.Make[int](0)
		return scene{func() error {
			var v int
			i, err := channel.SelectTimeout(time.Hour, a.RecvCase(&v),
				b.SendCase(1))
			if i >= 0 && err == channel.ErrClosed {
				return nil
			}
			return err
		}, a.Close, func() error {
			if _, _, done := b.TryRecv(); done {
				return errors.New("a case stayed behind")
			}
			return nil
		}}
	},
	"select without a bound": func(t *testing.T) scene {
		a, b := channel.Make[int](0), channel.Make[int](0)
		return scene{func() error {
			channel.Select(a.RecvCase(nil), b.RecvCase(nil))
			return nil
		}, b.Close, nil}
	},
	"timer channel": func(t *testing.T) scene {
		timer := netco.NewTimer(time.Hour)
		return scene{func() error {
			if _, err := timer.C.RecvTimeout(time.Hour); err != nil {
				return err
			}
			timer.Reset(0) // the next one's
			return nil
		}, func() { timer.Reset(0) }, nil}
	},
	"cond": func(t *testing.T) scene {
		var m sync.Mutex
		c := sync.NewCond(&m)
		ready := false
		return scene{func() error {
			m.Lock()
			defer m.Unlock()
			for !ready {
				c.Wait()
			}
			return nil
		}, func() { m.Lock(); ready = true; m.Unlock(); c.Broadcast() }, free(m.TryLock, m.Unlock)}
	},
	"cond with a bound": func(t *testing.T) scene {
		var m sync.Mutex
		c := sync.NewCond(&m)
		ready := false
		return scene{func() error {
			m.Lock()
			defer m.Unlock()
			for !ready {
				if err := c.WaitTimeout(time.Hour); err != nil {
					return err
				}
			}
			return nil
		}, func() { m.Lock(); ready = true; m.Unlock(); c.Broadcast() }, free(m.TryLock, m.Unlock)}
	},
	"semaphore": func(t *testing.T) scene {
		s := sync.NewSemaphore(3)
		s.Acquire(3)
		return scene{func() error { s.Acquire(2); s.Release(2); return nil }, func() {
			s.Release(3)
		},
			free(func() bool { return s.TryAcquire(3) }, func() { s.Release(3) })}
	},
	"wait group": func(t *testing.T) scene {
		var wg sync.WaitGroup
		wg.Add(1)
		return scene{func() error { wg.Wait(); return nil }, wg.Done, nil}
	},
	"group": func(t *testing.T) scene {
		var g errgroup.Group
		c := channel.Make[int](0)
		g.Go(func() error { c.Recv(); return nil })
		return scene{g.Wait, c.Close, nil}
	},
	"future": func(t *testing.T) scene {
		f := sync.NewFuture[int]()
		return scene{func() error { _, err := f.Get(); return err }, func() { f.Set(1) }, nil}
	},
	"once": func(t *testing.T) scene {
		var o sync.Once
		c := channel.Make[int](0)
		running := make(chan struct{})
		netco.Go(func() { o.Do(func() { close(running); c.Recv() }) })
		<-running
		return scene{func() error { o.Do(func() { c.Recv() }); return nil }, c.Close, nil}
	},
	"join": func(t *testing.T) scene {
		c := channel.Make[int](0)
		h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: func() { c.Recv() }})
		return scene{func() error { return h.Join() }, c.Close, nil}
	},
	"blocking": func(t *testing.T) scene {
		p := new(blocking.Pool)
		if err := p.SetLimit(10); err != nil {
			t.Fatal(err)
		}
		c := make(chan int)
		return scene{func() error { return p.Do(context.Background(), func() { <-c }) }, func() {
			close(c)
		}, func() error {
			for p.Stats().Workers != 0 { // of those who were left too
				p.CloseIdle()
				runtime.Gosched()
			}
			return nil
		}}
	},
	"context": func(t *testing.T) scene {
		ctx, cancel := context.WithCancel(context.Background())
		return scene{func() error {
			if err := sync.Wait(ctx); err != context.Canceled {
				return err
			}
			return nil
		}, cancel, nil}
	},
	"poll": func(t *testing.T) scene {
		var p [2]int
		if err := unix.Pipe(p[:]); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(p[0]) })
		return scene{func() error {
			n, err := socket.Poll([]socket.PollFd{{Fd: int32(p[0]), Events: unix.POLLIN}}, -1)
			if err == nil && n != 1 {
				err = fmt.Errorf("%d events", n)
			}
			return err
		}, func() { unix.Close(p[1]) }, nil}
	},
	"read": func(t *testing.T) scene {
		l, err := new(socket.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(); l.Close() })
		return scene{func() error {
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				return err
			}
			return nil
		}, func() { peer.Close() }, nil}
	},
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

// outcome is how one who waited ended.
type outcome struct {
	h   netco.Handle
	co  atomic.Pointer[coroutine.Coroutine]
	err error // valid if returned
	// How it went. Read after its end.
	returned, deferred bool
}

func (o *outcome) parked() bool {
	co := o.co.Load()
	return co != nil && co.State() == coroutine.Waiting && co.Reason() != coroutine.ReasonNone
}

// waiters starts coroutines on both Processors, and returns when all wait.
func waiters(s scene) (all [5 + spared]*outcome) {
	for i := range all {
		o := new(outcome)
		all[i] = o
		o.h, _ = netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			o.co.Store(coroutine.Current())
			defer func() { o.deferred = true }()
			o.err = s.wait()
			o.returned = true
		}})
	}
	for _, o := range all {
		for !o.parked() {
			runtime.Gosched()
		}
	}
	return all
}

// TestStopEndsEveryWait: of several that wait for the same some are stopped,
// from the same thread, another coroutine's or a goroutine. They end, with
// ErrShutdown or unwinding; the others get what they wait for, and nothing
// stays behind.
func TestStopEndsEveryWait(t *testing.T) {
	for name, make := range scenes {
		for _, from := range []string{"first", "second", "goroutine"} {
			t.Run(name+"/"+from, func(t *testing.T) { stopSome(t, name, make, from) })
		}
	}
}

func stopSome(t *testing.T, name string, make func(t *testing.T) scene, from string) {
	mustEnd(t)
	start(t, netco.Options{Processors: 2})
	before := sockinfo.OpenCount()
	s := make(t)
	all := waiters(s)
	victims := []int{0, 1, 3, 4, 7}
	stop := func() {
		for _, i := range victims {
			all[i].h.Stop()
		}
	}
	switch from {
	case "goroutine":
		stop()
	case "first":
		testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: stop})).Join()
	case "second":
		testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: stop})).Join()
	}
	for _, i := range victims {
		o := all[i]
		o.h.Join()
		if !o.deferred || o.returned && !errors.Is(o.err, netco.ErrShutdown) {
			t.Errorf("%d: deferred calls ran: %t, returned: %t, %v", i, o.deferred, o.returned,
				o.err)
		}
	}
	for i, o := range all {
		if !slices.Contains(victims, i) && o.h.Done() {
			t.Errorf("%d has ended too: returned: %t, %v", i, o.returned, o.err)
		}
	}
	s.release()
	for i, o := range all {
		if o.h.Join(); !slices.Contains(victims, i) && (!o.returned || o.err != nil) {
			t.Errorf("%d: returned: %t, %v", i, o.returned, o.err)
		}
	}
	if s.over != nil {
		testenv.NoError(t, s.over())
	}
	if name != "read" && sockinfo.OpenCount() > before {
		t.Errorf("%d sockets are open, there were %d", sockinfo.OpenCount(), before)
	}
}
