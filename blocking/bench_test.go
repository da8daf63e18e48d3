package blocking_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// BenchmarkDo is one call after the other, each with nothing to do: what the
// way there and back costs. Beside it, what a goroutine pays that starts
// another for each call and waits on a channel.
func BenchmarkDo(b *testing.B) {
	inCoroutine := func(b *testing.B, call func()) {
		testrun.Start(b, 1)
		b.ReportAllocs()
		<-testrun.First.Go(func() {
			for b.Loop() {
				call()
			}
		}).Done
	}
	b.Run("Do", func(b *testing.B) { inCoroutine(b, func() { blocking.Do(bg, func() {}) }) })
	b.Run("Call", func(b *testing.B) {
		inCoroutine(b, func() { blocking.Call(bg, func() (int, error) { return 1, nil }) })
	})
	b.Run("Do until", func(b *testing.B) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		inCoroutine(b, func() { blocking.Do(ctx, func() {}) })
	})
	b.Run("goroutine each", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			done := make(chan struct{})
			go func() { close(done) }()
			<-done
		}
	})
}

// BenchmarkDoMany has many coroutines of one Processor call at once.
func BenchmarkDoMany(b *testing.B) {
	const n = 64
	testrun.Start(b, 1)
	b.ReportAllocs()
	b.ResetTimer()
	var all []*testrun.Task
	for range n {
		all = append(all, testrun.First.Go(func() {
			for range b.N/n + 1 {
				blocking.Do(bg, func() {})
			}
		}))
	}
	for _, k := range all {
		<-k.Done
	}
}

// BenchmarkWait has 64 coroutines of one Processor wait in Go again and again,
// each for a millisecond: the Processor is handed on, or package blocking
// makes the call. Beside it, 64 goroutines. It reports the CPU time of a wait.
func BenchmarkWait(b *testing.B) {
	const n = 64
	wait := func() { time.Sleep(time.Millisecond) }
	inGoroutine := func(f func()) { go f() }
	inCoroutine := func(f func()) { testenv.Must(netco.Go(f)) }
	for _, c := range []struct {
		name  string
		start func(func())
		wait  func()
	}{
		{"handoff", inCoroutine, func() { wait(); netco.Yield() }},
		{"Do", inCoroutine, func() { blocking.Do(bg, wait) }},
		{"goroutines", inGoroutine, wait},
	} {
		b.Run(c.name, func(b *testing.B) {
			testrun.StartWith(b, netco.Options{Processors: 1, Quiet: true})
			var all sync.WaitGroup
			before := cpuTime()
			b.ResetTimer()
			for range n {
				all.Add(1)
				c.start(func() {
					defer all.Done()
					for range b.N/n + 1 {
						c.wait()
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
