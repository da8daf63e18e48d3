package sync_test

import (
	"context"
	"errors"
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

func ExampleMutex_LockTimeout() {
	var m sync.Mutex
	m.Lock()
	fmt.Println(m.LockTimeout(time.Millisecond))
	// Output: i/o timeout
}

func ExampleCond() {
	var m sync.Mutex
	arrived := sync.NewCond(&m)
	var letters []string // under m

	netco.Run(func() {
		if _, err := netco.Go(func() {
			m.Lock()
			defer m.Unlock()
			for len(letters) == 0 {
				arrived.Wait()
			}
			fmt.Println(letters[0])
		}); err != nil {
			fmt.Println(err)
		}
		if _, err := netco.Go(func() {
			m.Lock()
			letters = append(letters, "hello")
			m.Unlock()
			arrived.Signal()
		}); err != nil {
			fmt.Println(err)
		}
	})
	netco.Shutdown(context.Background())
	// Output: hello
}

func ExampleOnce() {
	var once sync.Once
	for range 3 {
		once.Do(func() { fmt.Println("only once") })
	}
	// Output: only once
}

func ExampleWait() {
	netco.Run(func() {
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := netco.Go(cancel); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(sync.Wait(ctx))
	})
	netco.Shutdown(context.Background())
	// Output: context canceled
}

func ExampleFuture() {
	var ready sync.Future[string] // several may wait for it, and one sets it
	netco.Run(func() {
		if _, err := netco.Go(func() { ready.Set("listening") }); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ready.Get())
	})
	netco.Shutdown(context.Background())
	// Output: listening <nil>
}

func ExampleAsync() {
	netco.Start(netco.Options{})
	sum := sync.Async(func() (int, error) { return 1 + 2, nil })
	boom := sync.Async(func() (int, error) { panic("boom") })
	fmt.Println(sum.Get())
	_, err := boom.Get()
	var p *netco.PanicError
	fmt.Println(errors.As(err, &p), p.Value)
	netco.Shutdown(context.Background())
	// Output:
	// 3 <nil>
	// true boom
}

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

func ExampleRWMutex_LockTimeout() {
	var mu sync.RWMutex
	mu.RLock()
	fmt.Println(mu.LockTimeout(time.Millisecond))
	mu.RUnlock()
	fmt.Println(mu.LockTimeout(0))
	// Output:
	// i/o timeout
	// <nil>
}
