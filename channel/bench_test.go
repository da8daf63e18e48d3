package channel_test

import (
	"testing"

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
