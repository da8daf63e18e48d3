package channel_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

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
			left.Store(int64(testenv.Rounds(200_000)))
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
