package processor

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestHistoryForgets drives the ring by hand through more time than it holds,
// with a quiet stretch.
func TestHistoryForgets(t *testing.T) {
	var p Processor
	now := int64(1000 * sliceNs)
	starts := func() (list []int64) {
		for _, s := range p.History() {
			list = append(list, s.Start/sliceNs)
		}
		return list
	}
	for i := range int64(3) {
		p.history.note(now+i*sliceNs, 1000)
		p.history.note(now+i*sliceNs+1, 3_000_000_000)
	}
	testenv.True(t, slices.Equal(starts(), []int64{1000, 1001, 1002}), "slices %v", starts())
	s := p.History()[0]
	testenv.True(t, s.Turns == 2 && s.BusyNs == 3_000_001_000 && s.MaxNs == 3_000_000_000 &&
		s.Lengths[0] == 1 && s.Lengths[sliceLengths-1] == 1, "%+v", s)
	p.history.note(now+40*sliceNs, 1)
	p.history.note(now+49*sliceNs, 1) // where 1001 was
	testenv.True(t, slices.Equal(starts(), []int64{1002, 1040, 1049}), "slices %v", starts())
	p.history.note(now+200*sliceNs, 1)
	got := starts()
	testenv.True(t, slices.Equal(got, []int64{1200}), "slices %v", got)
}

// TestHistoryIsReadWhole: a reader never gets a slice with another's figures.
func TestHistoryIsReadWhole(t *testing.T) {
	var p Processor
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			for _, s := range p.History() {
				// 0: that turn is being noted
				if n := uint64(s.Start / sliceNs); s.MaxNs != 0 && s.MaxNs != n {
					t.Errorf("slice %d has a turn of slice %d", n, s.MaxNs)
				}
			}
		}
	})
	for i := int64(1); i < int64(testenv.Rounds(100_000)); i++ {
		p.history.note(i*sliceNs, i)
	}
	stop.Store(true)
	wg.Wait()
}
