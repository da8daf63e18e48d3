package processor

import (
	"runtime"
	"slices"

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

// Waking a thread that sleeps in epoll costs some 7 µs of the waker's time and
// 20 µs until it runs; an event that comes within that time is had sooner by
// looking. So a Processor spins for a bounded time, but only when that has been
// paying lately:
//
//	score   0 .. 7, of the last waits: +1 for a short one, -2 for a long one, or
//	        for one that ended with an event for none of the last few
//	        connections. Spin if at least 4. A wait that was slept through is
//	        short up to sleptShortNs, since it contains the wake on this side
//	        and, of a peer that answers, on the other, which spinning would have
//	        saved.
//	skip    waits for which not to spin although the score says so, after a spin
//	        that found nothing: 1, then 3, 7 and so on up to 255. A spin that
//	        finds something ends that.
//
// Spinning shortens a conversation with few peers, each of which waits for the
// answer before it sends again. The events of many come as often whether this
// side spins or not, and sleeping between them takes less of the CPU.
//
// A spin that is held up for longer than a look can take was interrupted: it
// counts as one that found nothing. If it was held up for as long as a time
// slice, another thread wants the core, and one that uses its slices up by
// spinning is the last to get it back: spinning is then off for a while that
// doubles each time and is forgotten after a quiet second.
const (
	spinNs       = 50_000
	sleptShortNs = 120_000
	interruptNs  = 40_000
	preemptedNs  = 500_000

	spinScoreMax  = 7
	spinScoreMin  = 4
	skipMax       = 255
	holdOffMinNs  = 10_000_000
	holdOffMaxNs  = 640_000_000
	holdOffForget = 1_000_000_000
)

// spinner decides. All fields: owner.
type spinner struct {
	off     bool
	score   int
	recent  [4]*PollDesc // that ended the last waits, identity only
	next    int          // in recent, the one to be replaced
	skip    int          // waits left for which not to spin
	skipped int          // what skip began with
	until   int64        // no spin before this time
	holdOff int64        // how long the last hold-off was
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
	if s.skip > 0 {
		s.skip--
		return false
	}
	if s.until != 0 && s.heldOff(clock.Now()) {
		return false
	}
	if int(g.spinners.Add(1)) > max(1, len(g.members)/2) {
		g.spinners.Add(-1)
		return false
	}
	return true
}

func (s *spinner) leave(g *Group) { g.spinners.Add(-1) }

// paid records a spin that found something: an event for pd, or nil for what
// another thread has sent.
func (s *spinner) paid(pd *PollDesc) {
	s.short(pd)
	s.skipped = 0
}

// wasted records a spin that found nothing.
func (s *spinner) wasted() {
	s.long()
	s.skipped = min(2*s.skipped+1, skipMax)
	s.skip = s.skipped
}

// slept records a wait that was slept through, and what ended it, as paid.
func (s *spinner) slept(ns int64, pd *PollDesc) {
	if ns < sleptShortNs {
		s.short(pd)
	} else {
		s.long()
	}
}

// short records a short wait, unless it was for one of many connections.
func (s *spinner) short(pd *PollDesc) {
	if pd != nil && !slices.Contains(s.recent[:], pd) {
		s.recent[s.next] = pd
		s.next = (s.next + 1) % len(s.recent)
		s.long()
		return
	}
	s.score = min(s.score+1, spinScoreMax)
}

func (s *spinner) long() { s.score = max(s.score-2, 0) }

// interrupted tells of a spin that was held up for that long.
func (s *spinner) interrupted(heldNs, now int64) {
	s.wasted()
	s.preempted(heldNs, now)
}

// heldOff reports whether the core is not to be bet on now.
func (s *spinner) heldOff(now int64) bool { return now < s.until }

// preempted tells of a bet that took that long.
func (s *spinner) preempted(heldNs, now int64) {
	if heldNs < preemptedNs {
		return
	}
	if now-s.until > holdOffForget {
		s.holdOff = 0
	}
	s.holdOff = min(max(2*s.holdOff, holdOffMinNs), holdOffMaxNs)
	s.until = now + s.holdOff
}
