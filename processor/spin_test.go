package processor

import "testing"

// TestSpinnerScore: spinning starts when waits have been short and stops when they have not.
func TestSpinnerScore(t *testing.T) {
	g := &Group{members: make([]*Processor, 4)}
	s := &spinner{}
	worth := func() bool {
		if !s.worth(g) {
			return false
		}
		s.leave(g)
		return true
	}
	if worth() {
		t.Error("spins before any wait was short")
	}
	for range spinScoreMin {
		s.slept(spinNs - 1)
	}
	if !worth() {
		t.Error("does not spin after short waits")
	}
	for range 100 {
		s.slept(0)
	}
	for range 2 {
		s.slept(spinNs)
	}
	if worth() {
		t.Error("spins after two long waits, however many short ones came before")
	}
	s.score = spinScoreMax
	s.off = true
	if worth() {
		t.Error("spins though it is off")
	}
}

// TestSpinnerPlaces: at most half of a group's Processors spin at once, and one at least.
func TestSpinnerPlaces(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 9: 4} {
		g := &Group{members: make([]*Processor, members)}
		got := 0
		for range members {
			if (&spinner{score: spinScoreMax}).worth(g) {
				got++
			}
		}
		if got != want || int(g.spinners.Load()) != got {
			t.Errorf("%d of %d spin, want %d; counted %d", got, members, want, g.spinners.Load())
		}
	}
}

// TestSpinnerHoldsOff: when somebody else wants the core, spinning is off for a time that doubles, and starts small again after
// a quiet time.
func TestSpinnerHoldsOff(t *testing.T) {
	s := &spinner{score: spinScoreMax}
	now := int64(1e12)
	for want := int64(holdOffMinNs); want <= holdOffMaxNs; want *= 2 {
		s.preempted(now)
		if s.until-now != want {
			t.Fatalf("held off for %d, want %d", s.until-now, want)
		}
		now = s.until
	}
	for range 5 {
		s.preempted(now)
		if s.until-now > holdOffMaxNs {
			t.Errorf("held off for %d, at most %d wanted", s.until-now, int64(holdOffMaxNs))
		}
		now = s.until
	}
	now += holdOffForget + 1
	s.preempted(now)
	if s.until-now != holdOffMinNs {
		t.Errorf("held off for %d after a quiet time, want %d", s.until-now, int64(holdOffMinNs))
	}
}
