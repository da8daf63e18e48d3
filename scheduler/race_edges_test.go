package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	netcosync "github.com/netco-go/netco/sync"
)

// unlocked are functions that eight coroutines call between two writes to a map
// that they do not lock.
var unlocked = map[string]func(){
	"nothing": func() {},
	"Yield":   coroutine.Yield,
	"Sleep":   func() { processor.Sleep(time.Microsecond) },
}

// unlockedChild is a child in which eight coroutines write a map.
func unlockedChild(between string, processors int) func() {
	return func() {
		s, _ := scheduler.New(scheduler.Options{Processors: processors})
		s.Start()
		m := map[int]int{}
		s.Run(scheduler.Spawn{Fn: func() {
			for i := range 8 {
				s.Go(func() {
					for range 3 {
						m[i]++
						unlocked[between]()
					}
				})
			}
		}})
	}
}

func init() {
	for between := range unlocked {
		for _, n := range []int{1, 2} {
			children[fmt.Sprint("unlocked map, ", between, ", ", n)] = unlockedChild(between, n)
		}
	}
}

// TestUnlockedMapIsFound: writes that no lock orders are reported in the first
// run, on one Processor as on two.
func TestUnlockedMapIsFound(t *testing.T) {
	if !goruntime.RaceEnabled {
		t.Skip("needs -race")
	}
	for between := range unlocked {
		for _, n := range []int{1, 2} {
			name := fmt.Sprint("unlocked map, ", between, ", ", n)
			out, _ := child(t, name)
			testenv.True(t, strings.Contains(out, "DATA RACE") &&
				strings.Contains(out, "race_edges_test.go"), "%s: not found:\n%.2000s", name, out)
		}
	}
}

// edges are ways to order first before then, where two coroutines, or a
// coroutine and a goroutine, call them. Each returns when both have returned.
var edges = []struct {
	name string
	do   func(s *scheduler.Scheduler, first, then func())
}{
	{"start and Join", func(s *scheduler.Scheduler, first, then func()) {
		first()
		join(s, then)
	}},
	{"Join", func(s *scheduler.Scheduler, first, then func()) {
		join(s, first)
		then()
	}},
	{"start by a goroutine", func(s *scheduler.Scheduler, first, then func()) {
		ended := netcosync.NewFuture[int]()
		go func() {
			first()
			join(s, then)
			ended.Set(1)
		}()
		ended.Get()
	}},
	{"a wake", func(s *scheduler.Scheduler, first, then func()) {
		w := coroutine.AcquireWaiter()
		s.Go(func() { first(); w.Wake() })
		w.Park(coroutine.ReasonUser)
		w.Release()
		then()
	}},
	{"a wake by a goroutine", func(s *scheduler.Scheduler, first, then func()) {
		w := coroutine.AcquireWaiter()
		go func() { first(); w.Wake() }()
		w.Park(coroutine.ReasonUser)
		w.Release()
		then()
	}},
	{"a wake of a goroutine", func(s *scheduler.Scheduler, first, then func()) {
		ended, waiters := netcosync.NewFuture[int](), make(chan *coroutine.Waiter)
		go func() {
			w := coroutine.AcquireWaiter()
			waiters <- w
			w.Park(coroutine.ReasonUser)
			w.Release()
			then()
			ended.Set(1)
		}()
		w := <-waiters
		first()
		w.Wake()
		ended.Get()
	}},
	{"the end of Run", func(s *scheduler.Scheduler, first, then func()) {
		other := testenv.Must(scheduler.New(scheduler.Options{Processors: 1}))
		testenv.MustOK(other.Start())
		other.Run(scheduler.Spawn{Fn: func() { other.Go(func() { coroutine.Yield(); first() }) }})
		then()
		testenv.MustOK(other.Shutdown(context.Background()))
	}},
	{"a channel", func(s *scheduler.Scheduler, first, then func()) {
		c := channel.Make[int](0)
		s.Go(func() { first(); c.Send(1) })
		c.Recv()
		then()
	}},
	{"a buffered channel", func(s *scheduler.Scheduler, first, then func()) {
		c := channel.Make[int](1)
		s.Go(func() { first(); c.Send(1) })
		c.Recv()
		then()
	}},
	{"a closed channel", func(s *scheduler.Scheduler, first, then func()) {
		c := channel.Make[int](0)
		s.Go(func() { first(); c.Close() })
		c.Recv()
		then()
	}},
	{"a select", func(s *scheduler.Scheduler, first, then func()) {
		c, never := channel.Make[int](0), channel.Make[int](0)
		s.Go(func() { first(); c.Send(1) })
		channel.Select(never.RecvCase(nil), c.RecvCase(nil))
		then()
	}},
	{"a channel of Go's", func(s *scheduler.Scheduler, first, then func()) {
		c := make(chan int, 1)
		s.Go(func() { first(); c <- 1 })
		for ok := false; !ok; coroutine.Yield() {
			select {
			case <-c:
				ok = true
			default:
			}
		}
		then()
	}},
	{"a Mutex", func(s *scheduler.Scheduler, first, then func()) {
		var mu netcosync.Mutex
		locked(s, &mu, first, then)
	}},
	{"an RWMutex", func(s *scheduler.Scheduler, first, then func()) {
		var mu netcosync.RWMutex
		locked(s, &mu, first, then)
	}},
	{"a Mutex of Go's", func(s *scheduler.Scheduler, first, then func()) {
		var mu sync.Mutex
		locked(s, &mu, first, then)
	}},
	{"a Semaphore", func(s *scheduler.Scheduler, first, then func()) {
		locked(s, semaphoreLock{netcosync.NewSemaphore(1)}, first, then)
	}},
	{"a Cond", func(s *scheduler.Scheduler, first, then func()) {
		var mu netcosync.Mutex
		c, done := netcosync.NewCond(&mu), false
		s.Go(func() {
			first()
			mu.Lock()
			done = true
			mu.Unlock()
			c.Signal()
		})
		mu.Lock()
		for !done {
			c.Wait()
		}
		mu.Unlock()
		then()
	}},
	{"a WaitGroup", func(s *scheduler.Scheduler, first, then func()) {
		var wg netcosync.WaitGroup
		wg.Go(first)
		wg.Wait()
		then()
	}},
	{"a Group", func(s *scheduler.Scheduler, first, then func()) {
		var g errgroup.Group
		g.Go(func() error { first(); return nil })
		g.Wait()
		then()
	}},
	{"a Future", func(s *scheduler.Scheduler, first, then func()) {
		f := netcosync.NewFuture[int]()
		s.Go(func() { first(); f.Set(1) })
		f.Get()
		then()
	}},
	{"AfterFunc", func(s *scheduler.Scheduler, first, then func()) {
		f := netcosync.NewFuture[int]()
		first()
		netco.AfterFunc(time.Microsecond, func() { then(); f.Set(1) })
		f.Get()
	}},
	{"AfterFunc, reset by another", func(s *scheduler.Scheduler, first, then func()) {
		f := netcosync.NewFuture[int]()
		timer := netco.AfterFunc(time.Hour, func() { then(); f.Set(1) })
		join(s, func() { first(); timer.Reset(0) })
		f.Get()
	}},
	{"blocking.Do", func(s *scheduler.Scheduler, first, then func()) {
		blocking.Do(context.Background(), first)
		then()
	}},
	{"blocking.Do, the start", func(s *scheduler.Scheduler, first, then func()) {
		first()
		blocking.Do(context.Background(), then)
	}},
	{"an inherited Local", func(s *scheduler.Scheduler, first, then func()) {
		first()
		inherited.Set("x")
		join(s, func() { _ = *inherited.Get(); then() })
	}},
	{"Stop and Join", func(s *scheduler.Scheduler, first, then func()) {
		begun := netcosync.NewFuture[int]()
		h, _ := s.Go(func() {
			defer first()
			begun.Set(1)
			processor.Sleep(time.Hour)
		})
		begun.Get()
		h.Stop()
		if h.Join() == nil {
			then()
		}
	}},
	{"a Fiber", func(s *scheduler.Scheduler, first, then func()) {
		f := coroutine.New(func(y *coroutine.Yielder[int, int], _ int) int {
			first()
			y.Yield(0)
			return 0
		})
		f.Resume(0)
		then()
		f.Resume(0)
	}},
	{"a connection", func(s *scheduler.Scheduler, first, then func()) {
		ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
		defer ln.Close()
		s.Go(func() {
			c := testenv.Must(ln.Accept())
			defer c.Close()
			first()
			c.Write([]byte("x"))
		})
		c := testenv.Must(net.Dial("tcp", ln.Addr().String()))
		defer c.Close()
		c.Read(make([]byte, 1))
		then()
	}},
	{"a Server", func(s *scheduler.Scheduler, first, then func()) {
		ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
		steps := []func(){first, then} // only a Watch orders the two
		server := &socket.Server{Handle: func(c *socket.ServerConn) error {
			var b [1]byte
			if _, err := c.Read(b[:]); err != nil {
				return err
			}
			steps[0]()
			steps = steps[1:]
			_, err := c.Write(b[:])
			return err
		}}
		h, _ := s.Go(func() { server.Serve(ln) })
		c := testenv.Must(net.Dial("tcp", ln.Addr().String()))
		for range steps {
			c.Write([]byte("x"))
			c.Read(make([]byte, 1))
		}
		c.Close()
		server.Close()
		h.Join()
	}},
	{"a Buffer", func(s *scheduler.Scheduler, first, then func()) {
		first()
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				b := processor.AcquireBuffer()
				clear(b.Bytes())
				coroutine.Yield()
				b.Release()
				return nil
			})
		}
		g.Wait()
		then()
	}},
	{"another Scheduler", func(_ *scheduler.Scheduler, first, then func()) {
		other := testenv.Must(scheduler.New(scheduler.Options{Processors: 1}))
		testenv.MustOK(other.Start())
		first()
		join(other, then)
		testenv.MustOK(other.Shutdown(context.Background()))
	}},
	{"a handoff", func(s *scheduler.Scheduler, first, then func()) {
		c := make(chan struct{})
		h, _ := s.Go(func() {
			<-c // the Processor leaves the coroutine behind
			coroutine.Yield()
			then()
		})
		processor.Sleep(time.Millisecond)
		first()
		close(c)
		h.Join()
	}},
}

func join(s *scheduler.Scheduler, f func()) {
	testenv.Must(s.Go(f)).Join()
}

// locked calls both under a lock, in either order.
func locked(s *scheduler.Scheduler, mu sync.Locker, first, then func()) {
	h, _ := s.Go(func() {
		mu.Lock()
		defer mu.Unlock()
		first()
	})
	mu.Lock()
	if _, blocks := mu.(*sync.Mutex); !blocks {
		coroutine.Shield(coroutine.Yield) // the other coroutine begins to wait
	}
	then()
	mu.Unlock()
	h.Join()
}

type semaphoreLock struct{ s *netcosync.Semaphore }

func (l semaphoreLock) Lock()   { l.s.Acquire(1) }
func (l semaphoreLock) Unlock() { l.s.Release(1) }

// TestWhatOrdersIsNoRace: under -race, an edge that the detector does not know
// fails its subtest. An order that the detector assumes and that does not exist
// fails TestUnlockedMapIsFound.
func TestWhatOrdersIsNoRace(t *testing.T) {
	for _, processors := range []int{1, 2} {
		for _, edge := range edges {
			t.Run(fmt.Sprint(edge.name, ", ", processors), func(t *testing.T) {
				if edge.name == "a handoff" {
					needHandoff(t)
				}
				s := start(t, scheduler.Options{Processors: processors, MinActive: processors})
				for range 20 {
					n := new(int)
					h := testenv.Must(s.Go(func() {
						edge.do(s, func() { *n++ }, func() { *n++ })
					}))
					h.Join()
					testenv.True(t, *n == 2, "%d calls", *n)
				}
				shutdown(t, s)
			})
		}
	}
}

// TestEventLoopOrders: a turn comes before the coroutines that it starts, and a
// coroutine that has ended before the next turn.
func TestEventLoopOrders(t *testing.T) {
	s := fresh(t, scheduler.Options{})
	n := 0
	var h coroutine.Handle
	err := s.EventLoop(func() bool {
		if h != (coroutine.Handle{}) && !h.Done() {
			return true
		}
		if n++; n > 20 {
			return false
		}
		h, _ = s.Go(func() { n++; coroutine.Yield(); n++ })
		return true
	})
	n++
	testenv.True(t, err == nil && n == 23, "%d, %v", n, err)
}
