package socket_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// BenchmarkPoll: one that finds something at once, and one that waits until
// another coroutine of the same Processor rings.
func BenchmarkPoll(b *testing.B) {
	for _, n := range []int{1, 2, 8, 64, 1000} {
		var fds []int
		for range n {
			fds = append(fds, eventfd(b, 0))
		}
		bell := fds[n-1]
		set := in(fds...)
		b.Run(fmt.Sprintf("ready/%d", n), func(b *testing.B) {
			start(b, 1)
			ring(bell)
			testrun.First.Do(b, func() {
				for range b.N {
					socket.Poll(set, -1)
				}
			})
			drain(bell)
		})
		b.Run(fmt.Sprintf("waits/%d", n), func(b *testing.B) {
			start(b, 1)
			testrun.First.Do(b, func() {
				for range b.N {
					netco.GoLocal(func() { ring(bell) })
					socket.Poll(set, time.Minute)
					drain(bell)
				}
			})
		})
	}
}
