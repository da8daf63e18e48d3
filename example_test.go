package netco_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/fiber"
)

func Example() {
	netco.Run(func() {
		for i := range 3 {
			if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				netco.Sleep(time.Duration(i+1) * 5 * time.Millisecond)
				fmt.Println("hello", i)
			}}); err != nil {
				fmt.Println(err)
			}
		}
	})
	netco.Shutdown(context.Background())
	// Output:
	// hello 0
	// hello 1
	// hello 2
}

func ExampleGo() {
	netco.Start(netco.Options{})
	h, err := netco.Go(func() { fmt.Println("on a coroutine:", netco.Self().ID() != 0) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Join(), h.Done())
	netco.Shutdown(context.Background())
	// Output:
	// on a coroutine: true
	// <nil> true
}

func ExampleJoin() {
	netco.Run(func() {
		squares := make([]int, 4)
		handles := make([]netco.Handle, len(squares))
		for i := range squares {
			handles[i], _ = netco.Go(func() { squares[i] = i * i })
		}
		for _, h := range handles {
			h.Join()
		}
		fmt.Println(squares)
	})
	netco.Shutdown(context.Background())
	// Output: [0 1 4 9]
}

func ExampleYield() {
	netco.Run(func() {
		var ran atomic.Bool
		if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			ran.Store(true)
		}}); err != nil {
			fmt.Println(err)
		}
		fmt.Println("before:", ran.Load())
		netco.Yield()
		fmt.Println("after:", ran.Load())
	})
	netco.Shutdown(context.Background())
	// Output:
	// before: false
	// after: true
}

func ExampleGoWith() {
	netco.Run(func() {
		if _, err := netco.GoWith(netco.Spawn{Name: "greeter", Fn: func() {
			info, _ := netco.Self().Info()
			fmt.Println(info.Name)
		}}); err != nil {
			fmt.Println(err)
		}
	})
	netco.Shutdown(context.Background())
	// Output: greeter
}

func ExampleStart() {
	err := netco.Start(netco.Options{
		Processors: 2,
		OnPanic:    func(info netco.PanicInfo) { fmt.Println("recovered:", info.Value) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() { panic("oops") })
	netco.Shutdown(context.Background())
	// Output: recovered: oops
}

// Every coroutine has a request number of its own; those it starts inherit it.
func ExampleLocal() {
	request := netco.NewLocal(netco.LocalOptions[int]{
		Inherit: func(parent *int) int { return *parent },
	})
	netco.Run(func() {
		request.Set(7)
		h, _ := netco.Go(func() { fmt.Println("child", *request.Get()) })
		h.Join()
	})
	netco.Run(func() { fmt.Println("another", *request.Get()) })
	netco.Shutdown(context.Background())
	// Output:
	// child 7
	// another 0
}

func ExampleCurrentProcessor() {
	netco.Start(netco.Options{Processors: 2})
	h, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: func() {
		fmt.Println(netco.CurrentProcessor())
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	h.Join()
	fmt.Println(netco.CurrentProcessor())
	netco.Shutdown(context.Background())
	// Output:
	// 1
	// -1
}

// Counts the coroutines that live.
func ExampleAddHooks() {
	var live atomic.Int32
	remove := netco.AddHooks(netco.Hooks{
		Start: func() { live.Add(1) },
		End:   func() { live.Add(-1) },
	})
	defer remove()
	f := fiber.New(func(y *fiber.Yielder[int, int], in int) int {
		in, _ = y.Yield(in)
		return in
	})
	fmt.Println("made", live.Load())
	f.Resume(1)
	fmt.Println("running", live.Load())
	f.Resume(2)
	fmt.Println("ended", live.Load())
	// Output:
	// made 0
	// running 1
	// ended 0
}

// What one coroutine waits for, and where.
func ExampleRange() {
	netco.Start(netco.Options{Processors: 1})
	defer netco.Shutdown(context.Background())
	orders, parked := channel.Make[int](0), channel.Make[int](0)
	if _, err := netco.GoWith(netco.Spawn{Name: "clerk", Fn: func() {
		orders.Recv()
	}}); err != nil {
		panic(err)
	}
	if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		netco.Yield()
		parked.Close()
	}}); err != nil {
		panic(err)
	}
	parked.Recv()

	netco.Range(func(i netco.Info) bool {
		if i.Name == "clerk" {
			fmt.Printf("%s is %v for %s\n", i.Name, i.State, i.WaitsFor)
			stack, err := i.Stack(context.Background())
			fmt.Println(strings.Contains(stack, "ExampleRange"), err)
		}
		return true
	})
	orders.Close()
	// Output:
	// clerk is waiting for a channel
	// true <nil>
}

func ExampleAfter() {
	netco.Run(func() {
		answer := channel.Make[string](0) // no coroutine answers
		var text string
		switch i, _ := channel.Select(answer.RecvCase(&text),
			netco.After(5*time.Millisecond).RecvCase(nil)); i {
		case 0:
			fmt.Println(text)
		case 1:
			fmt.Println("too slow")
		}
	})
	netco.Shutdown(context.Background())
	// Output: too slow
}

func ExampleAfterFunc() {
	netco.Run(func() {
		done := channel.Make[int](0)
		netco.AfterFunc(5*time.Millisecond, func() {
			fmt.Println("in a coroutine:", netco.Self().ID() != 0)
			done.Close()
		})
		never := netco.AfterFunc(time.Hour, func() { fmt.Println("an hour later") })
		done.Recv()
		fmt.Println(never.Stop(), never.Stop())
	})
	netco.Shutdown(context.Background())
	// Output:
	// in a coroutine: true
	// true false
}

func ExampleNewTimer() {
	netco.Run(func() {
		idle := netco.NewTimer(time.Hour)
		for range 3 {
			idle.Reset(time.Millisecond) // nothing of the time before is received any more
			idle.C.Recv()
			fmt.Println("nothing has happened for a while")
		}
	})
	netco.Shutdown(context.Background())
	// Output:
	// nothing has happened for a while
	// nothing has happened for a while
	// nothing has happened for a while
}

func ExampleNewTicker() {
	netco.Run(func() {
		ticker := netco.NewTicker(2 * time.Millisecond)
		n := 0
		for range ticker.C.All() {
			if n++; n == 3 {
				break
			}
		}
		fmt.Println(n, "ticks")
	})
	netco.Shutdown(context.Background())
	// Output: 3 ticks
}

// A loop on the calling goroutine, which looks at a condition of its own in
// every turn.
func ExampleEventLoop() {
	var ticks atomic.Int32
	started := false
	err := netco.EventLoop(netco.Options{}, func() bool {
		if !started { // before any coroutine runs
			started = true
			if _, err := netco.Go(func() {
				for {
					netco.Sleep(time.Millisecond)
					fmt.Println("tick", ticks.Add(1))
				}
			}); err != nil {
				fmt.Println(err)
			}
		}
		return ticks.Load() < 3
	})
	fmt.Println("over:", err)
	// Output:
	// tick 1
	// tick 2
	// tick 3
	// over: <nil>
}
