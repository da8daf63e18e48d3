package rwmutex_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/netco-go/netco/rwmutex"
)

func ExampleRWMutex() {
	var mu rwmutex.RWMutex
	hits := map[string]int{}

	hit := func(page string) {
		mu.Lock()
		defer mu.Unlock()
		hits[page]++
	}
	count := func(page string) int {
		mu.RLock()
		defer mu.RUnlock()
		return hits[page]
	}

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { hit("/") }) // coroutines would do the same
	}
	wg.Wait()
	fmt.Println(count("/"))
	// Output: 3
}

func ExampleRWMutex_LockTimeout() {
	var mu rwmutex.RWMutex
	mu.RLock()
	fmt.Println(mu.LockTimeout(time.Millisecond))
	mu.RUnlock()
	fmt.Println(mu.LockTimeout(0))
	// Output:
	// i/o timeout
	// <nil>
}
