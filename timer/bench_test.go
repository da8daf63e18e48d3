package timer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/netco-go/netco/timer"
)

func nop(any, int64) {}

// delays is what a server sets: a few kinds of timeout, each from a clock that
// moves on a little with every call.
var delays = []int64{100e6, 1e9, 5e9, 30e9, 60e9}

// standing returns a heap of n timers as a server's clock would have set them
// one after the other, and the time at the end.
func standing(n int) (*timer.Heap, []timer.Timer, int64) {
	h := new(timer.Heap)
	ts := make([]timer.Timer, n)
	r := rand.New(rand.NewPCG(1, 2))
	now := int64(1e15)
	for i := range ts {
		ts[i].F = nop
		now += 1000
		h.Set(&ts[i], now+30e9+delays[r.IntN(len(delays))])
	}
	return h, ts, now
}

// BenchmarkSetCancel sets a timeout and cancels it among n others, as each
// request does.
func BenchmarkSetCancel(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, _, now := standing(n)
			x := timer.Timer{F: nop}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				now += 100
				h.Set(&x, now+delays[i%len(delays)])
				h.Cancel(&x)
				i++
			}
		})
	}
}

// BenchmarkReset moves the timeouts of n connections on, in random order, as
// traffic on them does.
func BenchmarkReset(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, ts, now := standing(n)
			order := rand.New(rand.NewPCG(3, 4)).Perm(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				now += 100
				h.Set(&ts[order[i]], now+60e9)
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

// BenchmarkResetPaid is Reset at its worst: each move to a later deadline has
// its sorting paid right after, in Next.
func BenchmarkResetPaid(b *testing.B) {
	const n = 10_000
	h, ts, now := standing(n)
	b.ReportAllocs()
	for b.Loop() {
		now += 120e9
		for i := range ts {
			h.Set(&ts[i], now+int64(i)*1000)
		}
		if when, _ := h.Next(); when != now {
			b.Fatal("wrong deadline")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/timer")
}

// BenchmarkExpire is the whole way of a timer: Set among n, and run at its
// time.
func BenchmarkExpire(b *testing.B) {
	for _, tt := range []struct {
		name string
		step int64
	}{{"ties", 0}, {"spread", 1}} {
		b.Run(tt.name+"/10000", func(b *testing.B) {
			const n = 10_000
			var h timer.Heap
			ts := make([]timer.Timer, n)
			order := rand.New(rand.NewPCG(5, 6)).Perm(n)
			for i := range ts {
				ts[i].F = nop
			}
			b.ReportAllocs()
			for b.Loop() {
				for i := range ts {
					h.Set(&ts[i], int64(order[i])*tt.step)
				}
				if h.Expire(n, 0) != n {
					b.Fatal("not all ran")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/timer")
		})
	}
}

func standingAfterFunc(b *testing.B, n int) []*time.Timer {
	ts := make([]*time.Timer, n)
	for i := range ts {
		ts[i] = time.AfterFunc(time.Hour+time.Duration(i)*time.Microsecond, func() {})
	}
	b.Cleanup(func() {
		for _, t := range ts {
			t.Stop()
		}
	})
	return ts
}

// BenchmarkAfterFuncStop is what SetCancel costs with the standard library.
func BenchmarkAfterFuncStop(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			standingAfterFunc(b, n)
			f := func() {}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				time.AfterFunc(time.Duration(delays[i%len(delays)]), f).Stop()
				i++
			}
		})
	}
}

// BenchmarkAfterFuncReset is what Reset costs with the standard library.
func BenchmarkAfterFuncReset(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ts := standingAfterFunc(b, n)
			order := rand.New(rand.NewPCG(3, 4)).Perm(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				ts[order[i]].Reset(2 * time.Hour)
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}
