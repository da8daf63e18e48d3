package fd_test

import (
	"context"
	"net"
	"testing"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestOpenedByProcessor: a Processor counts what it opens and closes in a line
// of its own, and an ordinary goroutine in another; together they are right.
func TestOpenedByProcessor(t *testing.T) {
	testrun.Start(t, 1)
	ctx, lc := context.Background(), new(socket.ListenConfig)
	const n = 100 // many more than other tests leave to be closed
	for _, c := range []struct {
		place testrun.Place
		line  func() int64
	}{
		{testrun.First, func() int64 { return fd.OpenedBy(processor.Current().Index()) }},
		{testrun.Goroutine, fd.OpenedOutside},
	} {
		c.place.Do(t, func() {
			before, all := c.line(), fd.OpenCount()
			var open []net.PacketConn
			for range n {
				open = append(open, testenv.Must(lc.ListenPacket(ctx, "udp4", "127.0.0.1:0")))
			}
			own, sum := c.line()-before, fd.OpenCount()-all
			testenv.True(t, own >= n/2 && sum >= n/2, "%s: %d opened, %d in all, want %d",
				c.place.Name, own, sum, n)
			for _, s := range open {
				testenv.OK(t, s.Close())
			}
			left := c.line() - before
			testenv.True(t, left <= n/2, "%s: %d left open", c.place.Name, left)
		})
	}
}
