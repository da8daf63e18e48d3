package sync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

// Answers may take 100 bytes of memory at a time.
func ExampleSemaphore() {
	memory := sync.NewSemaphore(100)
	answer := func(size int64) error {
		if err := memory.AcquireTimeout(size, 5*time.Second); err != nil {
			return err
		}
		defer memory.Release(size)
		netco.Yield() // send it
		return nil
	}
	netco.Run(func() {
		for range 3 {
			if _, err := netco.Go(func() { answer(40) }); err != nil {
				fmt.Println(err)
			}
		}
		fmt.Println(answer(20), answer(101))
	})
	netco.Shutdown(context.Background())
	// Output: <nil> sync: more units than the Semaphore has
}
