package sync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

// A lock is held across a wait: the others park meanwhile.
func Example() {
	var mu sync.Mutex
	hits := 0 // under mu
	netco.Run(func() {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				mu.Lock()
				defer mu.Unlock()
				netco.Sleep(time.Microsecond)
				hits++
			})
		}
		wg.Wait()
		fmt.Println(hits)
	})
	netco.Shutdown(context.Background())
	// Output: 3
}
