package channel_test

import (
	"testing"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
)

// TestByHand: in a coroutine driven by hand, the caller of Resume waits,
// coroutine or goroutine.
func TestByHand(t *testing.T) {
	everywhere(t, func(t *testing.T, spawn func(func())) {
		for _, own := range []bool{false, true} {
			c, back := channel.Make[int](0), channel.Make[int](0)
			if own {
				bias(c)
				bias(back)
			}
			const n = 200
			spawn(func() {
				for v := range c.All() {
					back.Send(v)
				}
				back.Close()
			})
			f := coroutine.New(func(y *coroutine.Yielder[int, int], v int) int {
				for v < n {
					c.Send(v)
					got, _ := back.Recv()
					v, _ = y.Yield(got)
				}
				c.Close()
				_, ok := back.Recv()
				if ok {
					t.Error("a value after the end")
				}
				return n
			})
			for i := range n + 1 {
				if got, err := f.Resume(i); got != i || err != nil {
					t.Fatal(i, got, err)
				}
			}
		}
	})
}
