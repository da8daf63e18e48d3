package netco_test

import (
	"fmt"
	"time"

	"github.com/netco-go/netco"
)

// A loop on the calling goroutine, which looks at a condition of its own in
// every turn.
func ExampleEventLoop() {
	ticks := 0
	started := false
	err := netco.EventLoop(netco.Options{}, func() bool {
		if !started { // before any coroutine runs
			started = true
			if _, err := netco.Go(func() {
				for {
					netco.Sleep(time.Millisecond)
					ticks++
					fmt.Println("tick", ticks)
				}
			}); err != nil {
				fmt.Println(err)
			}
		}
		return ticks < 3
	})
	fmt.Println("over:", err)
	// Output:
	// tick 1
	// tick 2
	// tick 3
	// over: <nil>
}
