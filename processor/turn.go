package processor

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/inside"
)

// waits has the figures that a turn's waits are computed from. All fields:
// owner.
type waits struct {
	beforeNs int64 // length of the turn before the last one; 0 if it slept in between
	queued   int   // coroutines ready when the runs of the last turn began
	atEnd    int   // coroutines ready at the end of the turn before
}

// noteWaits counts how long the coroutines that a turn has run had been ready,
// from their event or wake on. On average a coroutine waits for as many runs as
// coroutines are ready in its turn. A coroutine that was not ready at the end
// of the turn before has also waited for half of that turn, as events of a turn
// are found at its end. A wait of the thread itself for a core shows only in
// the length of the turn that it interrupts. Two observations stand for the
// turn, one for each half of its runs. noteWaits returns the sum of all waits.
// Owner.
func (p *Processor) noteWaits(turnNs int64, runs int) (waitNs int64) {
	n, w, atEnd := int64(runs), &p.waits, p.ex.Queued()
	before := w.beforeNs * int64(min(max(w.queued-w.atEnd, 0), runs)) / (2 * n)
	behind := turnNs * int64(max(w.queued+atEnd-1, 0)) / (2 * n)
	w.beforeNs, w.atEnd = turnNs, atEnd
	p.Stats.WaitNs.ObserveN(before+behind/2, uint64(n-n/2))
	p.Stats.WaitNs.ObserveN(before+behind*3/2, uint64(n/2))
	waitNs = n * (before + behind)
	p.history.noteWaits(waitNs, uint64(n))
	return waitNs
}

// Turn describes a Processor's present turn, as another thread sees it.
type Turn struct {
	Number    uint64 // of the turn; 0: the loop has not begun
	Start     int64  // CLOCK_MONOTONIC, ns; after a sleep, the end of the sleep
	Asleep    bool   // blocked in epoll, whatever Number and Start are
	Coroutine *coroutine.Coroutine
}

// Turn describes the Processor's present turn. The fields are read one by one,
// and may belong to two successive turns: to be sure, call Turn twice, some
// time apart. Any thread.
func (p *Processor) Turn() Turn {
	// The owner's own word: a ring clears the epoller's word before the owner
	// is awake.
	if p.time.sleeping() {
		return Turn{Asleep: true, Number: p.Stats.Turns.Load()}
	}
	return Turn{
		Number:    p.Stats.Turns.Load(),
		Coroutine: p.ex.Current(),
		Start:     int64(p.Stats.TurnStart.Load()),
	}
}

// TurnLimit is how long a turn should take, in ns: a coroutine that does not
// wait yields after that time.
const TurnLimit = turnNs

// TurnAge returns how long the turn of the caller's Processor has lasted, in
// ns; 0 for an ordinary goroutine.
func TurnAge() int64 {
	if p := Current(); p != nil {
		return clock.Now() - int64(p.Stats.TurnStart.Load())
	}
	return 0
}

// TurnOver reports whether the turn of the caller's Processor has lasted for
// TurnLimit. It reads the clock.
func TurnOver() bool { return TurnAge() >= TurnLimit }

// pollTurn polls for I/O on a coroutine. Owner only.
func (p *Processor) pollTurn() {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	defer inside.Pin().Unpin() // the loop must not poll for I/O meanwhile
	p.dispatch(p.ep.Poll())
}

// YieldTurn is coroutine.YieldTurn, but polls for I/O first, so that coroutines
// with I/O run before the caller runs again. If the next turn polled, they
// would queue behind the caller, which may keep the thread for half a
// millisecond more, or until its next operation. It may move the caller, as a
// wait for an fd does.
func YieldTurn() (stopping bool) {
	co := coroutine.Current()
	if p := Current(); p != nil && co != nil && p.ep.Registered() > 0 {
		p.pollTurn()
	}
	stopping = coroutine.YieldTurn()
	if co != nil {
		co.MoveOn()
	}
	return stopping
}
