package channel_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestAllocs: nothing allocates, in a channel that is its thread's own and in
// one that is not, but for contexts.
func TestAllocs(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, own := range []bool{true, false} {
		testrun.With(t, 1, func() {
			buffered, ping, pong := channel.Make[int](4), channel.Make[int](0), channel.Make[int](0)
			for _, c := range []*channel.Chan[int]{buffered, ping, pong} {
				if own {
					bias(c)
				} else {
					goroutine(func() { c.Len() })
				}
			}
			netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				for v := range ping.All() {
					pong.Send(v)
				}
			}})
			defer ping.Close()
			var v, w int
			for what, f := range map[string]func(){
				"buffered": func() { buffered.Send(1); buffered.Recv() },
				"try":      func() { buffered.TrySend(1); buffered.TryRecv() },
				"bounded, ready": func() {
					buffered.SendTimeout(1, time.Hour)
					buffered.RecvTimeout(time.Hour)
				},
				"ping-pong": func() { ping.Send(1); pong.Recv() },
				"bounded, waits": func() {
					ping.SendTimeout(1, time.Hour)
					pong.RecvTimeout(time.Hour)
				},
				"time is over": func() { pong.RecvTimeout(time.Microsecond) },
				"select, ready": func() {
					channel.Select(buffered.SendCase(1), pong.RecvCase(&w))
					channel.Select(buffered.RecvCase(&v), pong.RecvCase(&w))
				},
				"select, default": func() {
					var v, w int
					channel.Select(buffered.RecvCase(&v), pong.RecvCase(&w), channel.Default())
				},
				"select, waits": func() {
					ping.Send(1)
					var v, w int
					channel.Select(buffered.RecvCase(&v), pong.RecvCase(&w))
				},
			} {
				testenv.Equal(t, testenv.Allocs(200, f), 0, what, "own", own)
			}
		})
		testrun.Shutdown(t)
	}
}

// goroutine runs f on an ordinary goroutine and waits for it.
func goroutine(f func()) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	<-done
}

// TestNothingIsKept: a channel keeps no value that has been received or not
// been sent, and nothing keeps a channel.
func TestNothingIsKept(t *testing.T) {
	testrun.With(t, 1, func() {
		const n = 8
		gone := make(chan struct{}, 3*n)
		value := func() *[100]int {
			p := new([100]int)
			runtime.AddCleanup(p, func(struct{}) { gone <- struct{}{} }, struct{}{})
			return p
		}
		await := func(n int, what string) {
			t.Helper()
			until(t, what, func() bool {
				runtime.GC()
				for ; len(gone) > 0; n-- {
					<-gone
				}
				return n == 0
			})
		}
		for _, own := range []bool{true, false} {
			c, d := channel.Make[*[100]int](n), channel.Make[*[100]int](0)
			if own {
				awaitBarriers()
				for range 100 {
					c.Len()
					d.Len()
				}
			}
			for range n {
				c.Send(value()) // through the buffer
				c.Recv()
				d.SendTimeout(value(), time.Microsecond) // times out
				netco.GoWith(netco.Spawn{Local: true, Fn: func() { d.Recv() }})
				d.Send(value()) // from hand to hand
			}
			await(3*n, "the values are gone")
			runtime.KeepAlive(c)
			runtime.KeepAlive(d)
		}
		c := channel.Make[*[100]int](1)
		c.Send(value())
		runtime.AddCleanup(c, func(struct{}) { gone <- struct{}{} }, struct{}{})
		c = nil
		await(2, "the channel and what is in it are gone")
	})
}
