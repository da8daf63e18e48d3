package netco_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
)

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
