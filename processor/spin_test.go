package processor

import (
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestSpinnerScore: spinning starts when waits have been short and stops when
// they have not.
func TestSpinnerScore(t *testing.T) {
	g := &Group{members: make([]*Processor, 4)}
	s := &spinner{}
	worth := func() bool {
		if !s.begin(g) {
			return false
		}
		s.end(g)
		return true
	}
	testenv.True(t, !worth(), "spins before any wait was short")
	for range spinScoreMin {
		s.slept(sleptShortNs-1, nil)
	}
	testenv.True(t, worth(), "does not spin after short waits")
	for range 100 {
		s.slept(0, nil)
	}
	for range 2 {
		s.slept(sleptShortNs, nil)
	}
	testenv.True(t, !worth(), "spins after two long waits, however many short ones came before")
	s.score = spinScoreMax
	s.off = true
	testenv.True(t, !worth(), "spins though it is off")
}

// TestSpinnerSkips: after spins that find nothing, ever more waits go by
// without one, however short they are; a spin that finds something ends that. A
// short interruption counts as finding nothing and does not hold off.
func TestSpinnerSkips(t *testing.T) {
	g := &Group{members: make([]*Processor, 2)}
	s := &spinner{}
	waits := func() (n int) { // until the next spin
		for ; !s.begin(g); n++ {
			s.slept(0, nil)
		}
		s.end(g)
		return n
	}
	waits()
	s.wasted()
	for want := 1; want < skipMax; want = 2*want + 1 {
		if got := waits(); got < want {
			t.Fatalf("spins again after %d waits, want at least %d", got, want)
		}
		s.interrupted(interruptNs+1, 1e12)
	}
	s.wasted()
	testenv.True(t, waits() >= skipMax && s.until == 0, "skips few waits, or until %d", s.until)
	s.paid(nil)
	testenv.Equal(t, waits(), 0, "skips N waits after a spin that paid")
}

// TestSpinnerFewPeers: short waits make a Processor spin if what ends them is
// for few connections in turn, not if it is for many.
func TestSpinnerFewPeers(t *testing.T) {
	for _, c := range []struct {
		peers int
		spins bool
	}{{1, true}, {2, true}, {4, true}, {5, false}, {64, false}} {
		g := &Group{members: make([]*Processor, 2)}
		s := &spinner{}
		fds := make([]PollDesc, c.peers)
		spins := 0
		for i := range 1000 {
			pd := &fds[i%c.peers]
			if s.begin(g) {
				s.end(g)
				s.paid(pd)
				spins++
			} else {
				s.slept(0, pd)
			}
		}
		testenv.True(t, (spins > 900) == c.spins && (spins > 0) == c.spins,
			"%d of 1000 waits for %d peers were spun through", spins, c.peers)
	}
}

// TestSpinnerPlaces: at most half of a group's Processors spin at once, and one
// at least.
func TestSpinnerPlaces(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 9: 4} {
		g := &Group{members: make([]*Processor, members)}
		got := 0
		for range members {
			if (&spinner{score: spinScoreMax}).begin(g) {
				got++
			}
		}
		testenv.True(t, got == want && int(g.spinners.Load()) == got,
			"%d of %d spin, want %d; counted %d", got, members, want, g.spinners.Load())
	}
}

// TestSpinnerHoldsOff: when another thread wants the core, spinning is off for
// a time that doubles, and starts small again after a quiet time.
func TestSpinnerHoldsOff(t *testing.T) {
	s := &spinner{score: spinScoreMax}
	now := int64(1e12)
	for want := int64(holdOffMinNs); want <= holdOffMaxNs; want *= 2 {
		s.interrupted(preemptedNs, now)
		if s.until-now != want {
			t.Fatalf("held off for %d, want %d", s.until-now, want)
		}
		now = s.until
	}
	for range 5 {
		s.interrupted(preemptedNs, now)
		testenv.True(t, s.until-now <= holdOffMaxNs, "held off for %d, at most %d wanted",
			s.until-now, int64(holdOffMaxNs))
		now = s.until
	}
	now += holdOffForget + 1
	s.interrupted(preemptedNs, now)
	testenv.Equal(t, s.until-now, holdOffMinNs, "held off after a quiet time")
}
