// Command thread is libco's example of that name: several threads, each with
// coroutines of its own. It shows the three ways to have that, one after the
// other:
//
//   - by hand: each thread resumes its coroutines in turn. Nothing else decides
//     when they run.
//   - a loop: each thread turns an event loop, as libco's do in co_eventloop.
//     Coroutines wait for time and I/O; a function that is called in each turn
//     ends the loop. With one such thread netco.EventLoop does it.
//   - scheduled: netco has the threads, and places coroutines on them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	threads := flag.Int("threads", 4, "how many threads")
	n := flag.Int("n", 10, "how many coroutines each of them has")
	turns := flag.Int("turns", 5, "how often each coroutine runs")
	flag.Parse()
	if err := run(os.Stdout, *threads, *n, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "thread:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, threads, n, turns int) error {
	if threads < 1 || n < 1 || turns < 1 {
		return fmt.Errorf("-threads %d -n %d -turns %d: want at least 1 of each", threads, n, turns)
	}
	for _, way := range []struct {
		name string
		run  func(threads, n, turns int) (ran int64, err error)
	}{{"by hand", onThreads(byHand)}, {"a loop", onThreads(loop)}, {"scheduled", scheduled}} {
		ran, err := way.run(threads, n, turns)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d coroutines on %d threads ran %d times\n", way.name, threads*n,
			threads, ran)
	}
	return nil
}
