package coroutine_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
)

// What one coroutine waits for, and where.
func ExampleLook() {
	netco.Start(netco.Options{Processors: 1})
	defer netco.Shutdown(context.Background())
	orders, parked := channel.Make[int](0), channel.Make[int](0)
	if _, err := netco.GoNamed("clerk", func() { orders.Recv() }); err != nil {
		panic(err)
	}
	if _, err := netco.GoOn(0, func() { coroutine.Yield(); parked.Close() }); err != nil {
		panic(err)
	}
	parked.Recv()

	coroutine.Look(func(i coroutine.Info) bool {
		if i.Name == "clerk" {
			fmt.Printf("%s is %v for %s\n", i.Name, i.State, i.WaitsFor)
			stack, err := i.Stack(context.Background())
			fmt.Println(strings.Contains(stack, "ExampleLook"), err)
		}
		return true
	})
	orders.Close()
	// Output:
	// clerk is waiting for a channel
	// true <nil>
}
