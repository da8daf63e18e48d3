package channel_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testrun"
)

// BenchmarkPingPong is a round trip over two unbuffered channels. What is
// compared: goroutines with Go's channels, coroutines of one Processor; and
// across threads, goroutines locked to theirs with Go's channels, coroutines of
// two Processors.
func BenchmarkPingPong(b *testing.B) {
	b.Run("go", func(b *testing.B) { goPingPong(b, false) })
	b.Run("netco", func(b *testing.B) { pingPong(b, 1) })
	b.Run("threads/go", func(b *testing.B) { goPingPong(b, true) })
	b.Run("threads/netco", func(b *testing.B) { pingPong(b, 2) })
}

func goPingPong(b *testing.B, locked bool) {
	ping, pong := make(chan int), make(chan int)
	if locked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	go func() {
		if locked {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		for v := range ping {
			pong <- v
		}
	}()
	for i := range b.N {
		ping <- i
		<-pong
	}
	close(ping)
}

// Not inlined: into a closure that is copied elsewhere the compiler inlines
// Send and Recv no more.
//
//go:noinline
func pingPong(b *testing.B, processors int) {
	testrun.With(b, processors, func() {
		ping, pong := channel.Make[int](0), channel.Make[int](0)
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(processors - 1), Fn: func() {
			for v, ok := ping.Recv(); ok; v, ok = ping.Recv() {
				pong.Send(v)
			}
		}})
		awaitBarriers()
		for range 100 { // so that the channels are their thread's own, if they can be
			ping.Send(0)
			pong.Recv()
		}
		b.ResetTimer()
		for i := range b.N {
			ping.Send(i)
			pong.Recv()
		}
		b.StopTimer()
		ping.Close()
	})
}

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

// BenchmarkSelect is a select of two cases, one of which is ready.
func BenchmarkSelect(b *testing.B) {
	b.Run("go", func(b *testing.B) {
		c, d := make(chan int, 4), make(chan int)
		for i := range b.N {
			c <- i
			select {
			case <-d:
			case <-c:
			}
		}
	})
	for name, own := range map[string]bool{"netco/own": true, "netco/shared": false} {
		b.Run(name, func(b *testing.B) { selects(b, own) })
	}
}

//go:noinline
func selects(b *testing.B, own bool) {
	testrun.With(b, 1, func() {
		c, d := channel.Make[int](4), channel.Make[int](0)
		if own {
			bias(c)
			bias(d)
		} else {
			goroutine(func() { c.Len(); d.Len() })
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			var v, w int
			c.Send(i)
			channel.Select(d.RecvCase(&v), c.RecvCase(&w))
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
