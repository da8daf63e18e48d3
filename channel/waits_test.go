package channel_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
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
			const n = 50
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

// briefly are for TestMovingWakers: each sends or receives within short.
var briefly = []struct {
	name string
	op   func(c *channel.Chan[int], send bool, short time.Duration)
}{
	{"Send and Recv", func(c *channel.Chan[int], send bool, short time.Duration) {
		if send {
			c.SendTimeout(1, short)
		} else {
			c.RecvTimeout(short)
		}
	}},
	{"Select", func(c *channel.Chan[int], send bool, short time.Duration) {
		if send {
			channel.SelectTimeout(short, c.SendCase(1))
		} else {
			channel.SelectTimeout(short, c.RecvCase(nil))
		}
	}},
}

// TestMovingWakers: 100 coroutines send, receive and block in Go, so that
// Processors go on without them and give others away, which move as they come
// out of an operation. One that had claimed another moved before it woke that.
// If the other's time was up meanwhile, it spun, until it would be released, on
// the loop that the waker was moving to.
func TestMovingWakers(t *testing.T) {
	for _, c := range briefly {
		t.Run(c.name, func(t *testing.T) {
			testrun.Start(t, 2)
			ch := channel.Make[int](0)
			var left, running atomic.Int64
			left.Store(int64(testenv.Rounds(60_000)))
			running.Store(100)
			for range 100 {
				netco.Go(func() {
					defer running.Add(-1)
					for left.Add(-1) > 0 {
						short := time.Duration(rand.IntN(200)) * time.Microsecond
						if n := rand.IntN(3); n > 0 {
							c.op(ch, n == 1, short)
						} else {
							time.Sleep(short)
						}
					}
				})
			}
			testenv.Until(t, "all operations", func() bool { return running.Load() == 0 })
		})
	}
}

// TestBridges: values go through from Go's channels to ours and back, in order;
// closing goes through too.
func TestBridges(t *testing.T) {
	testrun.With(t, 1, func() {
		in := make(chan int, 3)
		go func() {
			for i := range 1000 {
				in <- i
			}
			close(in)
		}()
		c := channel.FromGo(context.Background(), in)
		testenv.Equal(t, c.Cap(), 3, "capacity")
		back := channel.ToGo(context.Background(), c)
		got := channel.FromGo(context.Background(), back)
		next := 0
		for v := range got.All() {
			if v != next {
				t.Fatalf("got %d, want %d", v, next)
			}
			next++
		}
		testenv.Equal(t, next, 1000, "values")
	})
}

// TestBridgesEnd: the goroutine of a bridge ends with its context, or once the
// other side is closed. The check for leaks after all tests finds one that has
// not.
func TestBridgesEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in := make(chan int) // never closed
	c := channel.FromGo(ctx, in)
	quiet := channel.Make[int](0) // never closed
	out := channel.ToGo(ctx, quiet)
	full := channel.ToGo(ctx, c)
	in <- 1 // waits in full or on its way there
	cancel()
	if _, ok := <-out; ok {
		t.Error("a value out of nowhere")
	}
	for range full {
	}
	for range c.All() {
	}
	in = make(chan int)
	c = channel.FromGo(context.Background(), in)
	c.Close()
	in <- 1 // is the last that it takes
}
