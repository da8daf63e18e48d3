package testenv

import (
	"testing"
	"time"
)

// TestWaiting: a test gives up after Limit, but not because the process was
// stopped meanwhile.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration
		looks int // until it is over
	}{
		{"looks often", time.Second, int(Limit / time.Second)},
		{"stopped each time", time.Hour, int(Limit / longestLook)},
	} {
		now := time.Now()
		w := waiting{last: now}
		looks := 0
		for over := false; !over; looks++ {
			now = now.Add(c.every)
			over = w.over(now)
		}
		Equal(t, looks, c.looks, c.name, "over after looks")
	}
}
