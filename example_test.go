package netco_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
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
