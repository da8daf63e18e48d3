package processor

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/netco-go/netco/internal/counter"
)

// The history is kept in slices of five seconds, four minutes of them.
const (
	sliceNs      = 5_000_000_000
	pastSlices   = 48
	sliceLengths = 20 // kinds of length
)

// Slice is five seconds of a Processor's past: a copy, for any thread.
type Slice struct {
	Start  int64  // CLOCK_MONOTONIC, ns; a multiple of five seconds
	Turns  uint64 // turns that ended in it and ran something
	BusyNs uint64 // their length in all, including the part before Start
	MaxNs  uint64 // the length of the longest turn
	Runs   uint64 // how many coroutines these turns resumed
	WaitNs uint64 // how long these coroutines had been ready, in all; see Stats.WaitNs

	// Lengths[i] is how many of these turns took less than 2^i µs (of 1,024
	// ns), and at least half as long; the last element counts all longer turns.
	Lengths [sliceLengths]uint64
}

// history is a Processor's past minutes: a ring of slices, which are reused in
// turn. The owner writes; a reader copies a slice, and drops the copy if the
// slice's start has changed meanwhile.
type history struct {
	end  int64  // owner: when the current slice ends
	at   *slice // owner: the current slice
	ring [pastSlices]slice
}

type slice struct {
	start              counter.Counter // 0: unused, or about to be reused
	turns, busy, worst counter.Counter
	runs, waited       counter.Counter
	lengths            [sliceLengths]counter.Counter
}

// note counts a turn that has just ended. Owner only.
func (h *history) note(now, length int64) {
	if now >= h.end {
		h.nextSlice(now)
	}
	s := h.at
	s.turns.Inc()
	s.busy.Add(uint64(length))
	if uint64(length) > s.worst.Own() {
		s.worst.Set(uint64(length))
	}
	s.lengths[min(bits.Len64(uint64(length)>>10), sliceLengths-1)].Inc()
}

// noteWaits counts the runs of the turn that note was called for, and how long
// they waited in all. Owner only.
func (h *history) noteWaits(ns int64, runs uint64) {
	h.at.runs.Add(runs)
	h.at.waited.Add(uint64(ns))
}

// nextSlice begins the slice that the time now falls in.
func (h *history) nextSlice(now int64) {
	start := now - now%sliceNs
	h.end = start + sliceNs
	s := &h.ring[start/sliceNs%pastSlices]
	h.at = s
	s.start.Publish(0) // first: readers drop their copies of s
	s.turns.Publish(0)
	s.busy.Publish(0)
	s.worst.Publish(0)
	s.runs.Publish(0)
	s.waited.Publish(0)
	for i := range s.lengths {
		s.lengths[i].Publish(0)
	}
	s.start.Publish(uint64(start))
}

// History returns the slices of the last four minutes in which anything ran,
// oldest first. Any thread.
func (p *Processor) History() []Slice {
	var list []Slice
	for i := range p.history.ring {
		list = appendSlice(list, &p.history.ring[i])
	}
	slices.SortFunc(list, func(a, b Slice) int { return cmp.Compare(a.Start, b.Start) })
	for len(list) > 0 && list[0].Start <= list[len(list)-1].Start-pastSlices*sliceNs {
		list = list[1:] // older than that; not reused, since nothing ran
	}
	return list
}

// appendSlice appends a copy of s, unless s is unused or has been reused
// meanwhile.
func appendSlice(list []Slice, s *slice) []Slice {
	r := Slice{
		Start:  int64(s.start.Load()),
		Turns:  s.turns.Load(),
		BusyNs: s.busy.Load(),
		MaxNs:  s.worst.Load(),
		Runs:   s.runs.Load(),
		WaitNs: s.waited.Load(),
	}
	for i := range s.lengths {
		r.Lengths[i] = s.lengths[i].Load()
	}
	if r.Start == 0 || int64(s.start.Load()) != r.Start {
		return list
	}
	return append(list, r)
}
