package processor

import (
	"testing"
	"time"
)

// TestTrial: a spread stays if it brings enough work, and is taken back if not,
// with ever longer pauses; less work because the load has gone is no verdict.
func TestTrial(t *testing.T) {
	now := time.Now()
	var tr trial
	for i, c := range []struct {
		rate   float64
		failed bool
		pause  time.Duration
	}{
		{90, true, trialPauseMin},
		{105, true, 2 * trialPauseMin},
		{10, false, 2 * trialPauseMin},
		{100, true, 4 * trialPauseMin},
		{115, false, 0},
		{100, true, trialPauseMin},
	} {
		tr.before, tr.looks, tr.work = 100, 0, 0
		tr.after = time.Time{}
		for range trialSettles { // what is done meanwhile does not count
			if over, _ := tr.look(1000, now); over {
				t.Fatal("over before it has settled")
			}
		}
		for range trialLooks - 1 {
			if over, _ := tr.look(c.rate, now); over {
				t.Fatal("over too early")
			}
		}
		over, failed := tr.look(c.rate, now)
		after := time.Time{}
		if c.failed {
			after = now.Add(c.pause)
		}
		if !over || failed != c.failed || tr.pause != c.pause || !tr.after.Equal(after) {
			t.Errorf("trial %d with %v of 100: over %t, failed %t, pause %v until %v", i, c.rate, over, failed, tr.pause, tr.after)
		}
	}
	for range 10 {
		tr.looks, tr.work = trialSettles+trialLooks, 0
		tr.look(500, now)
	}
	if tr.pause > trialPauseMax {
		t.Errorf("pauses for %v", tr.pause)
	}
}
