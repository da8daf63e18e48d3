package processor

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/clock"
)

// SpinMode says whether a Processor with nothing to do looks for events for a while before it sleeps.
type SpinMode int8

// The modes.
const (
	SpinAuto SpinMode = iota // spin while it has been paying lately, never on one core
	SpinOff
)

// Waking a thread that sleeps in epoll costs some 7 µs of the waker's time and 20 µs until it runs; an event that
// comes within that time is had sooner and cheaper by looking. So a Processor spins for a bounded time, but only when
// the last waits were short. Every wait, slept or spun, votes:
//
//	score   0 .. 7; spin if at least 4
//	+1      the wait ended within spinNs
//	-2      it did not
//
// When somebody else wanted the core (the spin was held up for longer than a look can take), spinning is off for a
// while that doubles each time and is forgotten after a quiet second.
const (
	spinNs      = 50_000
	preemptedNs = 20_000

	spinScoreMax  = 7
	spinScoreMin  = 4
	holdOffMinNs  = 20_000_000
	holdOffMaxNs  = 2_000_000_000
	holdOffForget = 1_000_000_000
)

// spinner decides. All fields: owner.
type spinner struct {
	off     bool
	score   int
	until   int64 // no spin before this time
	holdOff int64 // how long the last hold-off was
}

// cores is how many threads can run at once in this process.
func cores() int {
	n := runtime.GOMAXPROCS(0)
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		n = min(n, set.Count())
	}
	return n
}

func (s *spinner) init(mode SpinMode) { s.off = mode == SpinOff || cores() < 2 }

// worth reports whether to spin now, and takes one of the group's few places for it; leave gives it back.
func (s *spinner) worth(g *Group) bool {
	if s.off || s.score < spinScoreMin {
		return false
	}
	if s.until != 0 && clock.Now() < s.until {
		return false
	}
	if int(g.spinners.Add(1)) > max(1, len(g.members)/2) {
		g.spinners.Add(-1)
		return false
	}
	return true
}

func (s *spinner) leave(g *Group) { g.spinners.Add(-1) }

func (s *spinner) paid()   { s.score = min(s.score+1, spinScoreMax) }
func (s *spinner) wasted() { s.score = max(s.score-2, 0) }

// slept tells how long a wait was that was slept through.
func (s *spinner) slept(ns int64) {
	if ns < spinNs {
		s.paid()
	} else {
		s.wasted()
	}
}

func (s *spinner) preempted(now int64) {
	if now-s.until > holdOffForget {
		s.holdOff = 0
	}
	s.holdOff = min(max(2*s.holdOff, holdOffMinNs), holdOffMaxNs)
	s.until = now + s.holdOff
}
