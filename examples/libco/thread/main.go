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
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/fiber"
	"github.com/netco-go/netco/scheduler"
)

var (
	threads = flag.Int("threads", 4, "how many threads")
	each    = flag.Int("n", 10, "how many coroutines each of them has")
	turns   = flag.Int("turns", 5, "how often each coroutine runs")
)

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		log.Fatal("thread: ", err)
	}
}

func run(w io.Writer) error {
	for _, way := range []struct {
		name string
		run  func(ran *atomic.Int64) error
	}{{"by hand", onThreads(byHand)}, {"a loop", onThreads(loop)}, {"scheduled", scheduled}} {
		var ran atomic.Int64
		if err := way.run(&ran); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d coroutines on %d threads ran %d times\n", way.name, *threads**each,
			*threads, ran.Load())
	}
	return nil
}

// onThreads runs f on several threads at a time.
func onThreads(f func(ran *atomic.Int64) error) func(ran *atomic.Int64) error {
	return func(ran *atomic.Int64) error {
		var wg sync.WaitGroup
		errs := make([]error, *threads)
		for i := range errs {
			wg.Go(func() {
				runtime.LockOSThread() // for good: the thread ends with its goroutine
				errs[i] = f(ran)
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// byHand resumes each coroutine once in each turn. With its last one it ends.
func byHand(ran *atomic.Int64) error {
	var all []fiber.Fiber[int, int64]
	for range *each {
		all = append(all, fiber.New(func(y *fiber.Yielder[int, int64], turn int) int64 {
			for ; turn < *turns-1; turn, _ = y.Yield(1) {
			}
			return 1
		}))
	}
	for turn := range *turns {
		for _, f := range all {
			one, err := f.Resume(turn)
			if err != nil {
				return err
			}
			ran.Add(one)
		}
	}
	return nil
}

// loop turns an event loop as long as one of its coroutines lives.
func loop(ran *atomic.Int64) error {
	s, err := scheduler.New(netco.Options{})
	if err != nil {
		return err
	}
	started, left := false, *each // all on one thread
	return s.EventLoop(func() bool {
		for i := 0; !started && i < *each; i++ {
			if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				takeTurns(ran)
				left--
			}}); err != nil {
				return false
			}
		}
		started = true
		return left > 0
	})
}

// scheduled lets netco have the threads. What all coroutines change is then
// shared among these.
func scheduled(ran *atomic.Int64) error {
	if err := netco.Start(netco.Options{Processors: *threads}); err != nil {
		return err
	}
	defer netco.Shutdown(context.Background())
	var failed error
	err := netco.Run(func() {
		for i := 0; i < *threads**each && failed == nil; i++ {
			_, failed = netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % *threads), Fn: func() {
				takeTurns(ran)
			}})
		}
	})
	return errors.Join(err, failed)
}

func takeTurns(ran *atomic.Int64) {
	for range *turns {
		ran.Add(1)
		netco.Sleep(time.Millisecond)
	}
}
