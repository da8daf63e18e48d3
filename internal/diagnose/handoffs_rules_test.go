package diagnose

import (
	"fmt"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestHandoffsBounded: beyond so many places only causes are distinguished.
func TestHandoffsBounded(t *testing.T) {
	o := New(Config{})
	causes := []string{CauseChannel, CauseMutex}
	const places = 100
	for i := range places {
		for _, cause := range causes {
			o.handoffs.countLocked(Handoff{Cause: cause, BlockedAt: fmt.Sprint("file.go:", i),
				Coroutine: uint64(i)})
		}
	}
	o.handoffs.countLocked(Handoff{Cause: CauseChannel, BlockedAt: "file.go:0", Coroutine: 1000})
	all := o.Handoffs()
	n, elsewhere := uint64(0), uint64(0)
	for _, one := range all {
		n += one.Count
		if one.BlockedAt == BlockedElsewhere {
			elsewhere += one.Count
		}
	}
	if len(all) != maxHandoffs+len(causes) || n != places*2+1 || elsewhere != places*2-maxHandoffs {
		t.Errorf("%d lines with %d handoffs, %d of them elsewhere", len(all), n, elsewhere)
	}
	testenv.Equal(t, all[len(causes)], (Handoff{Cause: CauseChannel, BlockedAt: "file.go:0",
		Count: 2, Coroutine: 1000}))
}
