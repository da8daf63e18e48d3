package channel_test

import (
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testrun"
)

// BenchmarkBuffered is a send and a receive that need not wait: in a channel
// that is the thread's own, and in one that is not.
func BenchmarkBuffered(b *testing.B) {
	b.Run("go", func(b *testing.B) {
		c := make(chan int, 4)
		for i := range b.N {
			c <- i
			<-c
		}
	})
	for name, own := range map[string]bool{"netco/own": true, "netco/shared": false} {
		b.Run(name, func(b *testing.B) { buffered(b, own) })
	}
}

//go:noinline
func buffered(b *testing.B, own bool) {
	testrun.With(b, 1, func() {
		c := channel.Make[int](4)
		if own {
			bias(c)
		} else {
			goroutine(func() { c.Len() })
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			c.Send(i)
			c.Recv()
		}
	})
}

// BenchmarkPipeline is a value's way through eight stages.
func BenchmarkPipeline(b *testing.B) {
	const stages = 8
	b.Run("go", func(b *testing.B) {
		first := make(chan int)
		last := first
		for range stages {
			from, to := last, make(chan int)
			go func() {
				for v := range from {
					to <- v
				}
				close(to)
			}()
			last = to
		}
		go func() {
			for i := range b.N {
				first <- i
			}
			close(first)
		}()
		for range last {
		}
	})
	b.Run("netco", func(b *testing.B) {
		testrun.With(b, 2, func() {
			first := channel.Make[int](0)
			last := first
			for range stages {
				from, to := last, channel.Make[int](0)
				netco.Go(func() {
					for v := range from.All() {
						to.Send(v)
					}
					to.Close()
				})
				last = to
			}
			netco.Go(func() {
				for i := range b.N {
					first.Send(i)
				}
				first.Close()
			})
			for range last.All() {
			}
		})
	})
}

// BenchmarkPool is a job of 20 µs that one of 64 workers takes and answers.
func BenchmarkPool(b *testing.B) {
	const workers = 64
	job := func() {
		for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
		}
	}
	b.Run("go", func(b *testing.B) {
		jobs, done := make(chan int), make(chan int, workers)
		for range workers {
			go func() {
				for v := range jobs {
					job()
					done <- v
				}
			}()
		}
		go func() {
			for i := range b.N {
				jobs <- i
			}
			close(jobs)
		}()
		for range b.N {
			<-done
		}
	})
	b.Run("netco", func(b *testing.B) {
		testrun.With(b, 2, func() {
			jobs, done := channel.Make[int](0), channel.Make[int](workers)
			for range workers {
				netco.Go(func() {
					for v := range jobs.All() {
						job()
						done.Send(v)
					}
				})
			}
			netco.Go(func() {
				for i := range b.N {
					jobs.Send(i)
				}
				jobs.Close()
			})
			for range b.N {
				done.Recv()
			}
		})
	})
}
