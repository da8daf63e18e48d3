package channel_test

import (
	"context"
	"testing"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

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
