package blocking_test

import (
	"context"
	"testing"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestAllocation: what a call allocates once there is a worker is what its
// documentation says.
func TestAllocation(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	testrun.Start(t, 1)
	p := pool(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name string
		call func()
		want float64
	}{
		{"Do", func() { p.Do(bg, func() {}) }, 0},
		{"Call", func() { blocking.CallOn(bg, p, func() (int, error) { return 1, nil }) }, 1},
		{"Do until", func() { p.Do(ctx, func() {}) }, 2},
	} {
		testrun.First.Do(t, func() {
			testenv.Equal(t, testing.AllocsPerRun(300, c.call), c.want, c.name, "allocations")
		})
	}
}
