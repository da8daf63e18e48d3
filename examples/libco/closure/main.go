// Command closure is libco's example of that name: functions with variables of
// their own and of those around them, run side by side and awaited. libco has
// macros for it; here it is what the language does, and sync has what one
// waits with.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/sync"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "closure:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	defer netco.Shutdown(context.Background())
	return netco.Run(func() {
		var mu sync.Mutex // they may run on several threads
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(w, format, args...)
		}
		var all []func()
		total, seen := 100, []int(nil)
		for i := range 10 {
			all = append(all, func() { // it has an i of its own; total, seen and mu are everybody's
				say("total %d i %d\n", total, i)
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, i)
			})
		}
		for i := range 2 {
			all = append(all, func() {
				for j := range 2 {
					netco.Sleep(time.Millisecond)
					say("i %d j %d\n", i, j)
				}
			})
		}
		batch(all)
		slices.Sort(seen)
		say("done: %d\n", seen)
	})
}

// batch runs the functions side by side, each on a coroutine, and returns when
// all have ended.
func batch(all []func()) {
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
}
