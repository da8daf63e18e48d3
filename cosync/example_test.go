package cosync_test

import (
	"context"
	"fmt"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cosync"
)

func ExampleMutex() {
	var m cosync.Mutex
	hits := 0
	netco.Run(func() {
		for range 3 {
			if _, err := netco.Go(func() {
				m.Lock()
				defer m.Unlock()
				netco.Sleep(time.Microsecond) // the others park meanwhile
				hits++
			}); err != nil {
				fmt.Println(err)
			}
		}
	})
	fmt.Println(hits)
	netco.Shutdown(context.Background())
	// Output: 3
}

func ExampleMutex_LockTimeout() {
	var m cosync.Mutex
	m.Lock()
	fmt.Println(m.LockTimeout(time.Millisecond))
	// Output: i/o timeout
}

func ExampleCond() {
	var m cosync.Mutex
	arrived := cosync.NewCond(&m)
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
	var once cosync.Once
	for range 3 {
		once.Do(func() { fmt.Println("only once") })
	}
	// Output: only once
}
