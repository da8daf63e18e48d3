package netco_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/fiber"
)

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
