// Package waiting compares how coroutines wait for one another, and for time,
// with what goroutines have: generators, channels, locks, timers.
package waiting

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/sync"
)

// with runs f in a coroutine of a Scheduler with so many Processors. What it
// takes to start and stop one is not measured.
func with(b *testing.B, processors int, f func()) {
	b.Helper()
	must(b, netco.Start(netco.Options{Processors: processors, Quiet: true}))
	h, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		b.ResetTimer()
		f()
		b.StopTimer()
	}})
	must(b, err)
	must(b, h.Join())
	must(b, netco.Shutdown(context.Background()))
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// started starts f in a coroutine, on a Processor.
func started(b *testing.B, processor int, f func()) {
	_, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(processor), Fn: f})
	must(b, err)
}

// byHand is what drives a coroutine that is resumed by hand: a goroutine, or a
// Scheduler's coroutine.
var byHand = map[string]func(b *testing.B, f func()){
	"goroutine": func(_ *testing.B, f func()) { f() },
	"coroutine": func(b *testing.B, f func()) { with(b, 1, f) },
}

// BenchmarkGenerator is one value from a generator.
func BenchmarkGenerator(b *testing.B) {
	numbers := func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
		for i := 0; ; i++ {
			y.Yield(i)
		}
	}
	for place, run := range byHand {
		b.Run(place+"/iter.Pull", func(b *testing.B) {
			run(b, func() {
				next, stop := iter.Pull(func(yield func(int) bool) {
					for i := 0; yield(i); i++ {
					}
				})
				defer stop()
				for range b.N {
					next()
				}
			})
		})
		b.Run(place+"/Resume", func(b *testing.B) {
			run(b, func() {
				f := coroutine.New(numbers)
				defer f.Cancel()
				for range b.N {
					f.Resume(struct{}{})
				}
			})
		})
		b.Run(place+"/All", func(b *testing.B) {
			run(b, func() {
				f := coroutine.New(numbers)
				defer f.Cancel()
				n := b.N
				for range f.All(struct{}{}) {
					if n--; n <= 0 {
						break
					}
				}
			})
		})
	}
}

// BenchmarkCreate makes, resumes and ends a coroutine, with some values.
func BenchmarkCreate(b *testing.B) {
	pull := func(values int) {
		next, stop := iter.Pull(func(yield func(int) bool) {
			for i := range values {
				yield(i)
			}
		})
		for ok := true; ok; {
			_, ok = next()
		}
		stop()
	}
	resume := func(values int) {
		f := coroutine.New(func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
			for i := range values {
				y.Yield(i)
			}
			return 0
		})
		for range values + 1 {
			f.Resume(struct{}{})
		}
	}
	for place, run := range byHand {
		for _, values := range []int{0, 1, 3} {
			for name, life := range map[string]func(int){"iter.Pull": pull, "New": resume} {
				b.Run(fmt.Sprintf("%s/values=%d/%s", place, values, name), func(b *testing.B) {
					run(b, func() {
						for range b.N {
							life(values)
						}
					})
				})
			}
		}
	}
}

// BenchmarkPingPong is a round trip over two unbuffered channels: of goroutines,
// of coroutines of one Processor; and across threads, of goroutines locked to
// theirs, of coroutines of two Processors.
func BenchmarkPingPong(b *testing.B) {
	goroutines := func(b *testing.B, locked bool) {
		ping, pong := make(chan int), make(chan int)
		lock := func() (unlock func()) {
			if !locked {
				return func() {}
			}
			runtime.LockOSThread()
			return runtime.UnlockOSThread
		}
		defer lock()()
		go func() {
			defer lock()()
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
	b.Run("go", func(b *testing.B) { goroutines(b, false) })
	b.Run("netco", func(b *testing.B) { pingPong(b, 1) })
	b.Run("threads/go", func(b *testing.B) { goroutines(b, true) })
	b.Run("threads/netco", func(b *testing.B) { pingPong(b, 2) })
}

// Not inlined: into a closure that is copied elsewhere the compiler inlines
// Send and Recv no more.
//
//go:noinline
func pingPong(b *testing.B, processors int) {
	with(b, processors, func() {
		ping, pong := channel.Make[int](0), channel.Make[int](0)
		started(b, processors-1, func() {
			for v, ok := ping.Recv(); ok; v, ok = ping.Recv() {
				pong.Send(v)
			}
		})
		for i := range b.N {
			ping.Send(i)
			pong.Recv()
		}
		ping.Close()
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
	b.Run("netco", func(b *testing.B) {
		with(b, 1, func() {
			c, d := channel.Make[int](4), channel.Make[int](0)
			for i := range b.N {
				var v, w int
				c.Send(i)
				channel.Select(d.RecvCase(&v), c.RecvCase(&w))
			}
		})
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
		with(b, 2, func() {
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

// BenchmarkPool is a job of some 20 µs that one of 64 workers takes and answers.
func BenchmarkPool(b *testing.B) {
	const workers, job = 64, 20_000
	b.Run("go", func(b *testing.B) {
		jobs, done := make(chan int), make(chan int, workers)
		for range workers {
			go func() {
				for v := range jobs {
					toil(job)
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
		with(b, 2, func() {
			jobs, done := channel.Make[int](0), channel.Make[int](workers)
			for range workers {
				netco.Go(func() {
					for v := range jobs.All() {
						toil(job)
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

// toil takes about a nanosecond times n.
//
//go:noinline
func toil(n int) {
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		panic("toil has an end") // so that the work is done
	}
}

// The uncontended benchmarks call the methods directly, so that those that can
// be inlined are.

func BenchmarkMutex(b *testing.B) {
	b.Run("netco", func(b *testing.B) {
		var m sync.Mutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
	b.Run("sync", func(b *testing.B) {
		var m stdsync.Mutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
}

func BenchmarkRWMutex(b *testing.B) {
	b.Run("Lock/netco", func(b *testing.B) {
		var m sync.RWMutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
	b.Run("Lock/sync", func(b *testing.B) {
		var m stdsync.RWMutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
	b.Run("RLock/netco", func(b *testing.B) {
		var m sync.RWMutex
		for b.Loop() {
			m.RLock()
			m.RUnlock()
		}
	})
	b.Run("RLock/sync", func(b *testing.B) {
		var m stdsync.RWMutex
		for b.Loop() {
			m.RLock()
			m.RUnlock()
		}
	})
}

// onBoth calls f in n coroutines, half of them on each of two Processors.
func onBoth(b *testing.B, n int, f func()) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		started(b, i%2, func() {
			defer wg.Done()
			f()
		})
	}
	wg.Wait()
}

// onGoroutines calls f in n goroutines.
func onGoroutines(n int, f func()) {
	var wg stdsync.WaitGroup
	for range n {
		wg.Go(f)
	}
	wg.Wait()
}

// BenchmarkMutexContended has the given number of waiters and one more lock and
// unlock a mutex all the time: coroutines, goroutines with the same mutex, and
// goroutines with package sync's.
func BenchmarkMutexContended(b *testing.B) {
	for _, work := range []int{0, 100} {
		for _, waiters := range []int{1, 8, 64} {
			n := waiters + 1
			contend := func(b *testing.B, m stdsync.Locker) {
				for range b.N/n + 1 {
					m.Lock()
					toil(work)
					m.Unlock()
				}
			}
			name := fmt.Sprintf("work=%d/waiters=%d", work, waiters)
			b.Run(name+"/netco", func(b *testing.B) {
				var m sync.Mutex
				with(b, 2, func() { onBoth(b, n, func() { contend(b, &m) }) })
			})
			b.Run(name+"/goroutines", func(b *testing.B) {
				var m sync.Mutex
				onGoroutines(n, func() { contend(b, &m) })
			})
			b.Run(name+"/sync", func(b *testing.B) {
				var m stdsync.Mutex
				onGoroutines(n, func() { contend(b, &m) })
			})
		}
	}
}

// BenchmarkRWMutexContended has them do nothing but lock and unlock an RWMutex,
// so many of a hundred times for reading.
func BenchmarkRWMutexContended(b *testing.B) {
	type lock interface {
		stdsync.Locker
		RLock()
		RUnlock()
	}
	for _, work := range []int{0, 40} {
		for _, reads := range []int{0, 90, 100} {
			for _, waiters := range []int{1, 8, 64} {
				n := waiters + 1
				contend := func(b *testing.B, m lock) {
					for i := range b.N/n + 1 {
						if i*37%100 < reads { // spread
							m.RLock()
							toil(work)
							m.RUnlock()
						} else {
							m.Lock()
							toil(work)
							m.Unlock()
						}
					}
				}
				name := fmt.Sprintf("work=%d/reads=%d/waiters=%d", work, reads, waiters)
				b.Run(name+"/netco", func(b *testing.B) {
					var m sync.RWMutex
					with(b, 2, func() { onBoth(b, n, func() { contend(b, &m) }) })
				})
				b.Run(name+"/sync", func(b *testing.B) {
					var m stdsync.RWMutex
					onGoroutines(n, func() { contend(b, &m) })
				})
			}
		}
	}
}

// BenchmarkTimers makes, moves and stops what times a request out, alone and
// with 10,000 other timers set, by netco in a coroutine and by package time.
func BenchmarkTimers(b *testing.B) {
	f := func() {}
	for _, others := range []int{0, 10_000} {
		bench := func(name string, do func(own *netco.Timer, theirs *time.Timer)) {
			b.Run(fmt.Sprintf("%s/others=%d", name, others), func(b *testing.B) {
				with(b, 1, func() {
					own, theirs := netco.NewTimer(time.Hour), time.NewTimer(time.Hour)
					defer own.Stop()
					defer theirs.Stop()
					for i := range others {
						d := time.Hour + time.Duration(i)*time.Millisecond
						defer netco.AfterFunc(d, f).Stop()
						defer time.AfterFunc(d, f).Stop()
					}
					b.ResetTimer()
					for range b.N {
						do(own, theirs)
					}
					b.StopTimer()
				})
			})
		}
		bench("NewTimer+Stop/netco", func(*netco.Timer, *time.Timer) {
			netco.NewTimer(time.Second).Stop()
		})
		bench("NewTimer+Stop/time", func(*netco.Timer, *time.Timer) {
			time.NewTimer(time.Second).Stop()
		})
		bench("AfterFunc+Stop/netco", func(*netco.Timer, *time.Timer) {
			netco.AfterFunc(time.Second, f).Stop()
		})
		bench("AfterFunc+Stop/time", func(*netco.Timer, *time.Timer) {
			time.AfterFunc(time.Second, f).Stop()
		})
		bench("Reset/netco", func(own *netco.Timer, _ *time.Timer) { own.Reset(time.Second) })
		bench("Reset/time", func(_ *netco.Timer, theirs *time.Timer) { theirs.Reset(time.Second) })
	}
}
