package timer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

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
