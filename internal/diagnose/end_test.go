package diagnose

import (
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
)

// TestStallEndsWhenItEnds: a stall is as long as its turn was, however late
// the check is that finds it over: that was added, up to 7/8 of the threshold,
// and on the pages for as long as Logger or OnStall kept the watchdog.
func TestStallEndsWhenItEnds(t *testing.T) {
	d, w := fakeWatchdog(t)
	began := clock.Now() - 1000*ms
	over := int64(0) // when the turn has ended
	w.end = func(turn uint64) (int64, bool) { return over, turn == 5 && over != 0 }
	turn := processor.Turn{Number: 5, Start: began}
	w.now = func() processor.Turn { return turn }
	o := d.o
	o.dog.Store(d)

	d.check(began + 70*ms)
	d.check(began + 80*ms)
	if got := o.Stalls(); len(got) != 1 || got[0].Over || got[0].Length < 1000*time.Millisecond {
		t.Errorf("while it goes on: %+v", got)
	}
	over = began + 101*ms
	for _, when := range []string{"before a check", "after one"} {
		if got := o.Stalls(); len(got) != 1 || !got[0].Over ||
			got[0].Length != 101*time.Millisecond {
			t.Errorf("%s: %+v", when, got)
		}
		turn = processor.Turn{Number: 6, Asleep: true}
		d.check(began + 180*ms)
	}
}
