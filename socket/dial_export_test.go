package socket

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// Home returns the Processor that watches the connection's fd, or nil.
func (c *TCPConn) Home() *processor.Processor { return c.s.pd.Home() }

// Flights tells what a Resolver is doing: look-ups under way, those that wait
// for their turn, and all who wait for one.
func (r *Resolver) Flights() (running, queued, waiters int) {
	g := &r.orDefault().flights
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.flying {
		waiters += len(f.waiters)
	}
	return g.running, len(g.queue), waiters
}

// ForAddress is how long the next of so many addresses is given when so much is
// left for all.
func ForAddress(left time.Duration, addresses int) (time.Duration, error) {
	l, err := limits{context.Background(), time.Now().Add(left)}.forAddress(addresses)
	return time.Until(l.until), err
}

// Bell is a bell whose methods tests may call.
type Bell struct{ b bell }

func (x *Bell) Ring() { x.b.ring() }
func (x *Bell) Wait(until int64, ready func() bool) error {
	return x.b.wait(coroutine.ReasonUser, until, ready)
}
