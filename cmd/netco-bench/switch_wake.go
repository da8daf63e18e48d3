package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// The wake entries measure from just before the send to the first clock reading
// of the woken side. They return n times the median latency, not the sum: both
// sides of a wake need a CPU at once, and each time another process takes one
// of them adds milliseconds that would drown the microseconds sought.
//
// The sender stays on its CPU until it sees the answer: if it blocked, Go would
// simply run the target in its place and nothing would cross from one thread to
// another.

const (
	// asleepAfter is how long a target must have been blocked to count as
	// asleep: by then its thread has stopped looking for work and its CPU
	// idles.
	asleepAfter = 250 * time.Microsecond
	// busyItem is one piece of a busy target's work.
	busyItem = time.Microsecond
	// busyItems is how many such pieces are queued at any time.
	busyItems = 4
	// busyGap between two wakes is no multiple of busyItem, so that they fall
	// on any point of an item.
	busyGap = 20*time.Microsecond + 370*time.Nanosecond
)

// spin keeps the CPU busy for d.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// A waker is the sender's view of a target: the moment of each send travels
// through the channel, the latency comes back through an atomic.
type waker struct {
	sent    chan time.Time
	latency atomic.Int64 // 0 while a wake is under way, else ns
}

// arrived is called by the target with what it received.
func (w *waker) arrived(sent time.Time) {
	w.latency.Store(max(int64(time.Since(sent)), 1))
}

// wake sends and waits, spinning, for the latency.
func (w *waker) wake() time.Duration {
	w.latency.Store(0)
	w.sent <- time.Now()
	for {
		if ns := w.latency.Load(); ns != 0 {
			return time.Duration(ns)
		}
	}
}

// wakeRepeatedly makes n wakes with a spun pause before each and returns n
// times the median latency.
func wakeRepeatedly(n int, pause time.Duration, wake func() time.Duration) time.Duration {
	latencies := new(result.Histogram)
	for range n {
		spin(pause)
		latencies.Record(wake().Nanoseconds())
	}
	return time.Duration(int64(n) * latencies.At(50))
}

// goWakeAsleep wakes a goroutine blocked in a channel receive, with its thread
// and CPU asleep. The target blocks within microseconds of its answer, so the
// pause before the next wake is the time it has been asleep.
func goWakeAsleep(n int, locked bool) time.Duration {
	w := &waker{sent: make(chan time.Time)}
	var wg sync.WaitGroup
	wg.Go(func() {
		if locked {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		for sent := range w.sent {
			w.arrived(sent)
		}
	})
	if locked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	elapsed := wakeRepeatedly(n, asleepAfter, w.wake)
	close(w.sent)
	wg.Wait()
	return elapsed
}

// goWakeAmongBusy wakes a goroutine blocked in a channel receive while others
// work through 1 µs items on the other CPUs, yielding after each. Go ties the
// target to no thread: it runs wherever the scheduler finds room. The sender
// blocks for the answer, as a program would; to stay on its CPU would keep the
// target, queued there, from running until the sender is preempted.
func goWakeAmongBusy(n int) time.Duration {
	w := &waker{sent: make(chan time.Time, 1)}
	answered := make(chan struct{})
	var over atomic.Bool
	var wg sync.WaitGroup
	for range busyItems {
		wg.Go(func() {
			for !over.Load() {
				spin(busyItem)
				runtime.Gosched()
			}
		})
	}
	wg.Go(func() {
		for sent := range w.sent {
			w.arrived(sent)
			answered <- struct{}{}
		}
	})
	elapsed := wakeRepeatedly(n, busyGap, func() time.Duration {
		w.sent <- time.Now()
		<-answered
		return time.Duration(w.latency.Load())
	})
	over.Store(true)
	close(w.sent)
	wg.Wait()
	return elapsed
}

// goWakeBusyLoop is the event loop one writes by hand: a goroutine locked to
// its thread works through 1 µs items and looks into its channel between two.
// Ideal is half an item.
func goWakeBusyLoop(n int) time.Duration {
	w := &waker{sent: make(chan time.Time, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case sent, ok := <-w.sent:
				if !ok {
					return
				}
				w.arrived(sent)
			default:
				spin(busyItem)
			}
		}
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	elapsed := wakeRepeatedly(n, busyGap, w.wake)
	close(w.sent)
	wg.Wait()
	return elapsed
}
