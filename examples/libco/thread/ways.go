package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/fiber"
	"github.com/netco-go/netco/scheduler"
)

// onThreads runs f on several threads at a time and adds up what it returns.
func onThreads(f func(n, turns int) (ran int64, err error)) func(threads, n, turns int) (int64,
	error) {
	return func(threads, n, turns int) (int64, error) {
		var wg sync.WaitGroup
		var sum atomic.Int64
		errs := make(chan error, threads)
		for range threads {
			wg.Go(func() {
				runtime.LockOSThread() // for good: the thread ends with its goroutine
				ran, err := f(n, turns)
				sum.Add(ran)
				if err != nil {
					errs <- err
				}
			})
		}
		wg.Wait()
		close(errs)
		return sum.Load(), <-errs
	}
}

// byHand resumes each coroutine once in each turn. With its last one it ends.
func byHand(n, turns int) (ran int64, err error) {
	var all []fiber.Fiber[int, int64]
	for range n {
		all = append(all, fiber.New(func(y *fiber.Yielder[int, int64], turn int) int64 {
			for ; turn < turns-1; turn, _ = y.Yield(1) {
			}
			return 1
		}))
	}
	for turn := range turns {
		for _, f := range all {
			one, err := f.Resume(turn)
			if err != nil {
				return ran, err
			}
			ran += one
		}
	}
	return ran, nil
}

// loop turns an event loop as long as one of its coroutines lives.
func loop(n, turns int) (ran int64, err error) {
	s, err := scheduler.New(netco.Options{})
	if err != nil {
		return 0, err
	}
	started := false
	var left, count atomic.Int64
	routine := func() {
		defer left.Add(-1)
		for range turns {
			count.Add(1)
			netco.Sleep(time.Millisecond)
		}
	}
	err = s.EventLoop(func() bool {
		for ; !started && left.Load() < int64(n); left.Add(1) {
			if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: routine}); err != nil {
				return false
			}
		}
		started = true
		return left.Load() > 0
	})
	return count.Load(), err
}

// scheduled lets netco have the threads. What all coroutines change is then
// shared among these.
func scheduled(threads, n, turns int) (int64, error) {
	if err := netco.Start(netco.Options{Processors: threads}); err != nil {
		return 0, err
	}
	defer netco.Shutdown(context.Background())
	var ran atomic.Int64
	var failed error
	err := netco.Run(func() {
		for i := range threads * n {
			_, failed = netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % threads), Fn: func() {
				for range turns {
					ran.Add(1)
					netco.Sleep(time.Millisecond)
				}
			}})
			if failed != nil {
				return
			}
		}
	})
	return ran.Load(), errors.Join(err, failed)
}
