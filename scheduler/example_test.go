package scheduler_test

import (
	"context"
	"fmt"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

func Example() {
	s, err := scheduler.New(scheduler.Options{Processors: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Start(); err != nil {
		fmt.Println(err)
		return
	}
	sums := make([]int, 2)
	s.Run(scheduler.Spawn{Fn: func() {
		var parts []coroutine.Handle
		for i := range sums {
			h, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: func() {
				for n := range 10 {
					sums[i] += n
					coroutine.Yield()
				}
			}})
			parts = append(parts, h)
		}
		for _, h := range parts {
			h.Join()
		}
		fmt.Println(sums)
	}})
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// [45 45]
	// <nil>
}

func ExampleScheduler_Shutdown() {
	s, _ := scheduler.New(scheduler.Options{Processors: 1})
	s.Start()
	asleep := make(chan struct{})
	s.Go(func() {
		defer fmt.Println("unwound")
		close(asleep)
		processor.Sleep(1 << 60)
	})
	<-asleep
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no time for coroutines to finish
	fmt.Println(s.Shutdown(ctx))
	// Output:
	// unwound
	// context canceled
}
