package netco_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// ends are the ways in which a parent's life ends.
var ends = []struct {
	name string
	end  func()
}{
	{"return", func() {}},
	{"panic", func() { panic("parent") }},
	{"Goexit", runtime.Goexit},
	{"stopped", func() { netco.Self().Stop(); netco.Sleep(time.Hour) }},
}

// TestChildren: with the parent's end its children end, their deferred calls
// first, and theirs, on whatever Processor they are; nothing sees the parent's
// end before that.
func TestChildren(t *testing.T) {
	for _, e := range ends {
		t.Run(e.name, func(t *testing.T) {
			testrun.StartWith(t, netco.Options{Processors: 3, OnPanic: func(netco.PanicInfo) {}})
			const width, depth = 4, 3
			var begun, left, early atomic.Int32
			want := int32(width + width*width + width*width*width)
			handles := make(chan netco.Handle, want)
			var grow func(level int)
			grow = func(level int) {
				if level == depth {
					return
				}
				for range width {
					handles <- testenv.Must(netco.GoWith(netco.Spawn{Child: true, Fn: func() {
						begun.Add(1)
						defer left.Add(1)
						grow(level + 1)
						netco.Sleep(time.Hour)
					}}))
				}
			}
			deferred := false
			h, _ := netco.GoWith(netco.Spawn{Name: "parent", Fn: func() {
				defer func() {
					deferred = true
					if left.Load() != 0 {
						early.Add(1)
					}
				}()
				grow(0)
				for begun.Load() != want {
					netco.Sleep(time.Millisecond)
				}
				e.end()
			}})
			h.Join()
			if left.Load() != want || early.Load() != 0 || !deferred {
				t.Errorf("%d of %d have ended, %d before the parent's deferred calls, run: %t",
					left.Load(), want, early.Load(), deferred)
			}
			for range want {
				if h := <-handles; !h.Done() {
					t.Error("one lives")
				}
			}
		})
	}
}

// TestChildrenForgotten: a child that ends by itself is no memory to its
// parent, also if it was stopped before it started, and if another Scheduler's
// end refused it.
func TestChildrenForgotten(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	run := func(n int, f func()) (bytes int64) {
		h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
			f()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for range n {
				f()
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			bytes = int64(after.HeapAlloc) - int64(before.HeapAlloc)
		}})
		h.Join()
		return bytes
	}
	const n = 20_000
	for name, f := range map[string]func(){
		"ended": func() {
			h, _ := netco.GoWith(netco.Spawn{Child: true, Fn: func() {}})
			h.Join()
		},
		"stopped before its start": func() {
			h, _ := netco.GoWith(netco.Spawn{Child: true, Fn: func() {}})
			h.Stop()
			h.Join()
		},
	} {
		if got := run(n, f); got > n*40+1<<18 {
			t.Errorf("%s: %d bytes more after %d", name, got, n)
		}
	}
}

// TestChildErrors: a Child that could not be started leaves nothing behind, and
// the caller's others are bound to no parent.
func TestChildErrors(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 1})
	end := channel.Make[int](0)
	var free netco.Handle
	var returned atomic.Bool
	h, _ := netco.Go(func() {
		testenv.Panics(t, "nil func", func() {
			netco.GoWith(netco.Spawn{Child: true, Fn: nil})
		})
		// What failed binds no other: this one outlives its maker.
		free, _ = netco.Go(func() { end.Recv(); returned.Store(true) })
		named, err := netco.GoWith(netco.Spawn{Child: true, Name: "x", Fn: func() {
			testenv.Equal(t, self().Name, "x")
		}})
		testenv.NoError(t, err)
		named.Join()
	})
	h.Join()
	if free.Done() {
		t.Error("it has ended with its maker")
	}
	end.Close()
	if free.Join(); !returned.Load() {
		t.Error("it was stopped")
	}
}

// TestChildOfInherit: a coroutine that is made while a child's inherited Locals
// are made is not that child.
func TestChildOfInherit(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	end := channel.Make[int](0)
	var other atomic.Pointer[netco.Handle]
	making := false
	l := coroutine.NewLocal(coroutine.LocalOptions[int]{Inherit: func(p *int) int {
		if making {
			making = false
			h, _ := netco.Go(func() { end.Recv() })
			other.Store(&h)
		}
		return *p
	}})
	var child netco.Handle
	h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		l.Set(1)
		making = true
		child, _ = netco.GoWith(netco.Spawn{Child: true, Fn: func() { netco.Sleep(time.Hour) }})
		l.Set(0)
	}})
	h.Join()
	if !child.Done() || other.Load().Done() {
		t.Errorf("the child has ended: %t; the other: %t", child.Done(), other.Load().Done())
	}
	end.Close()
}

// TestChildrenInDrop: a Local's Drop may still make children, and they end too;
// what the Locals hold is there until the children have ended.
func TestChildrenInDrop(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	var late, ended atomic.Int32
	var dropped atomic.Bool
	l := coroutine.NewLocal(coroutine.LocalOptions[int]{Drop: func(*int) {
		dropped.Store(true)
		netco.GoWith(netco.Spawn{Child: true, Fn: func() {
			defer late.Add(1)
			netco.Sleep(time.Hour)
		}})
	}})
	h, _ := netco.Go(func() {
		l.Set(1)
		begun := channel.Make[int](1)
		netco.GoWith(netco.Spawn{Child: true, Fn: func() {
			begun.Send(1)
			defer func() {
				if dropped.Load() {
					t.Error("dropped before it had ended")
				}
				ended.Add(1)
			}()
			netco.Sleep(time.Hour)
		}})
		begun.Recv()
	})
	h.Join()
	if ended.Load() != 1 || !dropped.Load() || late.Load() > 1 {
		t.Error(ended.Load(), dropped.Load(), late.Load())
	}
}

// TestChildrenAtShutdown: at the Scheduler's end by force the parent still
// waits for its children, one of which takes its time.
func TestChildrenAtShutdown(t *testing.T) {
	testenv.OK(t, netco.Start(netco.Options{Processors: 2}))
	var slow, order atomic.Int32
	up := make(chan struct{})
	h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		netco.GoWith(netco.Spawn{Child: true, Fn: func() {
			defer func() {
				for range 100 { // it has to go on by itself: no wait of its works
					coroutine.Shield(coroutine.Yield)
				}
				slow.Store(order.Add(1))
			}()
			close(up)
			netco.Sleep(time.Hour)
		}})
		netco.Sleep(time.Hour)
	}})
	<-up
	joined := make(chan int32)
	go func() {
		h.Join()
		joined <- order.Add(1)
	}()
	testenv.Fails(t, netco.Shutdown(testenv.Over()), context.Canceled)
	if parent := <-joined; slow.Load() != 1 || parent != 2 {
		t.Errorf("the child ended as number %d, the parent as %d", slow.Load(), parent)
	}
}

// TestChildrenHammer: children on three Processors end by themselves, are
// stopped and have children, while their parents end.
func TestChildrenHammer(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 3})
	var live atomic.Int64
	n := testenv.Rounds(20_000)
	for i := range n {
		h := testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 3), Fn: func() {
			var mine atomic.Int64
			for j := range 4 {
				c := testenv.Must(netco.GoWith(netco.Spawn{Child: true, Fn: func() {
					live.Add(1)
					mine.Add(1)
					defer live.Add(-1)
					defer mine.Add(-1)
					switch j {
					case 0:
					case 1:
						netco.Yield()
					case 2:
						netco.GoWith(netco.Spawn{Child: true, Fn: func() {
							mine.Add(1)
							defer mine.Add(-1)
							netco.Sleep(time.Hour)
						}})
						netco.Yield()
					default:
						netco.Sleep(time.Hour)
					}
				}}))
				if j == 3 && i%4 == 0 {
					c.Stop()
				}
			}
			if i%2 == 0 {
				netco.Yield()
			}
			coroutine.NewLocal(coroutine.LocalOptions[int]{Drop: func(*int) {
				if mine.Load() != 0 {
					t.Error("a child lives")
				}
			}}).Set(1)
		}}))
		if i%8 == 0 {
			h.Stop()
		}
		if i%64 == 0 {
			h.Join()
		}
	}
	netco.Run(func() {})
	testenv.Equal(t, live.Load(), 0, "live")
}

// ExampleGoWith_child shows a request whose helpers end with it.
func ExampleGoWith_child() {
	netco.Run(func() {
		request, _ := netco.GoWith(netco.Spawn{Name: "request", Fn: func() {
			ready := channel.Make[bool](0)
			netco.GoWith(netco.Spawn{Child: true, Name: "progress", Fn: func() {
				defer fmt.Println("progress has ended")
				for {
					ready.Send(true)
					netco.Sleep(time.Hour)
				}
			}})
			ready.Recv()
			fmt.Println("answered")
		}})
		request.Join()
		fmt.Println("request is over")
	})
	netco.Shutdown(context.Background())
	// Output:
	// answered
	// progress has ended
	// request is over
}
