package processor

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/clock"
)

// Waking a thread that sleeps in epoll costs the waker some 7 µs, and the
// thread runs 20 µs later; polling finds an event within that time sooner. So a
// Processor spins for a bounded time, but only if spinning has paid lately:
//
//	score   0 to 7, from the last waits: +1 for a short one; -2 for a long
//	        one, or one that ended with an event for none of the last few
//	        connections. Spin if it is 4 or more. A wait that was slept through
//	        counts as short up to sleptShortNs: it contains the wakes of this
//	        side and of the answering peer, which spinning would have saved.
//	skip    how many waits not to spin for although the score is high enough,
//	        after a spin that found nothing: 1, then 3, 7 and so on up to 255. A
//	        spin that finds something resets that.
//
// Spinning shortens a conversation with few peers, each of which waits for the
// answer before it sends again. The events of many peers come as often whether
// this side spins or not, and sleeping between them takes less CPU time.
//
// A spin in which one poll took longer than a poll can take was interrupted,
// and counts as a spin that found nothing. If the interruption was as long as a
// time slice, another thread wants the core, and a thread that uses up its
// slices by spinning is the last to get the core back. So spinning is then off
// for a time that doubles with each such spin, and starts again from the
// minimum after a quiet second.
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

// spinner decides whether to spin. All fields: owner.
type spinner struct {
	off     bool
	score   int
	recent  [4]*PollDesc // the fds that ended the last waits; identity only
	next    int          // index in recent of the fd to be replaced next
	skip    int          // how many waits not to spin for
	skipped int          // the number that skip began with
	until   int64        // no spin before this time
	holdOff int64        // how long the last hold-off was
}

// cores returns how many threads of this process can run at once.
func cores() int {
	n := runtime.GOMAXPROCS(0)
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		n = min(n, set.Count())
	}
	return n
}

func (s *spinner) init(off bool) { s.off = off || cores() < 2 }

// begin reports whether to spin now, and if so takes one of the group's few
// places for spinners; end returns the place.
func (s *spinner) begin(g *Group) bool {
	if s.off || s.score < spinScoreMin || g.sharing.Load() {
		return false
	}
	if s.skip > 0 {
		s.skip--
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

func (s *spinner) end(g *Group) { g.spinners.Add(-1) }

// paid records a spin that found an event for pd, or, with pd nil, work from
// another thread.
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

// slept records a wait spent asleep; pd is as for paid.
func (s *spinner) slept(ns int64, pd *PollDesc) {
	if ns < sleptShortNs {
		s.short(pd)
	} else {
		s.long()
	}
}

// short records a short wait, or a long wait if it ended with an event for one
// of many connections.
func (s *spinner) short(pd *PollDesc) {
	if pd != nil && !slices.Contains(s.recent[:], pd) {
		s.recent[s.next] = pd
		s.next = (s.next + 1) % len(s.recent)
		s.long()
		return
	}
	s.score = min(s.score+1, spinScoreMax)
}

// long records a long wait.
func (s *spinner) long() { s.score = max(s.score-2, 0) }

// interrupted records a spin in which one poll took heldNs. If that is as long
// as a time slice, it turns spinning off for a while.
func (s *spinner) interrupted(heldNs, now int64) {
	s.wasted()
	if heldNs < preemptedNs {
		return
	}
	if now-s.until > holdOffForget {
		s.holdOff = 0
	}
	s.holdOff = min(max(2*s.holdOff, holdOffMinNs), holdOffMaxNs)
	s.until = now + s.holdOff
}
