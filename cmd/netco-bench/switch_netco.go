package main

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/scheduler"
)

// netcoMicros are netco's entries.
func netcoMicros() []micro {
	return []micro{
		{name: "netco, Local, Join", group: groupSpawn, run: netcoSpawnJoin},
		{name: "netco, Local, Yield", group: groupSpawn, run: func(n int) time.Duration {
			return netcoSpawnBatch(n, 1)
		}},
		{name: "netco, Local, Yield", group: groupSpawn100, run: func(n int) time.Duration {
			return netcoSpawnBatch(n, spawnBatch)
		}},
		{name: "netco, Yield", group: groupYield, run: func(n int) time.Duration {
			return netcoYield(n, 2)
		}},
		{name: "netco, Yield among 1,000", group: groupYield, run: func(n int) time.Duration {
			return netcoYield(n, 1000)
		}},
		{name: "netco, Yield alone", group: groupYield, run: func(n int) time.Duration {
			return netcoYield(n, 1)
		}},
		{name: "netco, Park and Wake", group: groupAsleep, run: func(n int) time.Duration {
			return netcoWake(n, asleepAfter, 0)
		}, cpus: 2},
		{name: "netco, Park and Wake beside 1", group: groupBusy, run: func(n int) time.Duration {
			return netcoWake(n, busyGap, 1)
		}, cpus: 2},
		{name: "netco, Park and Wake beside 4", group: groupBusy, run: func(n int) time.Duration {
			return netcoWake(n, busyGap, busyItems)
		}, cpus: 2},
	}
}

// onScheduler runs f as a coroutine of a Scheduler of its own and returns when
// all is over.
func onScheduler(o scheduler.Options, f func(s *scheduler.Scheduler)) {
	s, err := scheduler.New(o)
	if err == nil {
		if err = s.Start(); err == nil {
			err = s.Run(scheduler.Spawn{Fn: func() { f(s) }})
		}
	}
	if err == nil {
		err = s.Shutdown(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

func netcoSpawnJoin(n int) (elapsed time.Duration) {
	onScheduler(scheduler.Options{Processors: 1}, func(s *scheduler.Scheduler) {
		start := time.Now()
		for range n {
			h, err := s.GoWith(scheduler.Spawn{Local: true, Fn: func() {}})
			if err != nil {
				panic(err)
			}
			h.Join()
		}
		elapsed = time.Since(start)
	})
	return elapsed
}

func netcoSpawnBatch(n, size int) (elapsed time.Duration) {
	onScheduler(scheduler.Options{Processors: 1}, func(s *scheduler.Scheduler) {
		left := 0
		end := func() { left-- }
		start := time.Now()
		for n > 0 {
			batch := min(n, size)
			left = batch
			for range batch {
				if _, err := s.GoWith(scheduler.Spawn{Local: true, Fn: end}); err != nil {
					panic(err)
				}
			}
			for left > 0 {
				coroutine.Yield()
			}
			n -= batch
		}
		elapsed = time.Since(start)
	})
	return elapsed
}

// netcoYield has coroutines of one Processor yield in turn. An operation is one
// Yield of any of them: a switch to the Processor's loop and one to the next.
func netcoYield(n, coroutines int) (elapsed time.Duration) {
	onScheduler(scheduler.Options{Processors: 1}, func(s *scheduler.Scheduler) {
		each := n/coroutines + 1
		left := coroutines
		ready := 0
		var start time.Time
		for range coroutines {
			if _, err := s.GoWith(scheduler.Spawn{Local: true, Fn: func() {
				for ready++; ready < coroutines; {
					coroutine.Yield()
				}
				if start.IsZero() {
					start = time.Now()
				}
				for range each {
					coroutine.Yield()
				}
				if left--; left == 0 {
					elapsed = time.Since(start) * time.Duration(n) / time.Duration(coroutines*each)
				}
			}}); err != nil {
				panic(err)
			}
		}
	})
	return elapsed
}

// netcoWake wakes a parked coroutine from a goroutine of another thread. Its
// Processor is asleep by then, or works through 1 µs items of as many other
// coroutines as busy says, which yield after each.
func netcoWake(n int, pause time.Duration, busy int) (elapsed time.Duration) {
	onScheduler(scheduler.Options{Processors: 1, NoSpin: true},
		func(s *scheduler.Scheduler) {
			var (
				over    atomic.Bool
				waiting atomic.Pointer[coroutine.Waiter]
				latency atomic.Int64
				sentAt  atomic.Int64
				zero    = time.Now()
			)
			for range busy {
				if _, err := s.GoWith(scheduler.Spawn{Local: true, Fn: func() {
					for !over.Load() {
						spin(busyItem)
						coroutine.Yield()
					}
				}}); err != nil {
					panic(err)
				}
			}
			go func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				elapsed = wakeRepeatedly(n, pause, func() time.Duration {
					var w *coroutine.Waiter
					for w == nil {
						w = waiting.Swap(nil)
					}
					latency.Store(0)
					sentAt.Store(int64(time.Since(zero)))
					w.Wake()
					for {
						if ns := latency.Load(); ns != 0 {
							return time.Duration(ns)
						}
					}
				})
				over.Store(true)
				for {
					if w := waiting.Swap(nil); w != nil {
						w.Wake()
						return
					}
				}
			}()
			for !over.Load() {
				w := coroutine.AcquireWaiter()
				waiting.Store(w)
				w.Park(coroutine.ReasonUser)
				latency.Store(max(int64(time.Since(zero))-sentAt.Load(), 1))
				w.Release()
			}
		})
	return elapsed
}
