package channel_test

import (
	"context"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// parking is a context whose Err parks, as one with a lock of netco's may.
type parking struct{ context.Context }

func (p parking) Err() error {
	netco.Yield()
	return p.Context.Err()
}

// TestTickerContextParks: of two receivers that a tick wakes, one gets it, and
// the other asks its context before it waits again. It asked under the
// channel's guard, for which the first then spun.
func TestTickerContextParks(t *testing.T) {
	testrun.Start(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ticker := netco.NewTicker(time.Millisecond)
	var tasks []*testrun.Task
	for range 2 {
		tasks = append(tasks, testrun.First.Go(func() {
			for range 20 {
				testenv.Must(ticker.C.RecvContext(parking{ctx}))
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
}
