package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/internal/counter"
)

// turnEnd keeps when one turn has ended, the one that a watcher has asked for:
// the watcher looks now and then, and would take the time of its next look.
type turnEnd struct {
	wanted atomic.Uint64   // the number of that turn; the watcher writes
	end    counter.Counter // CLOCK_MONOTONIC, ns; owner: writes, before of
	of     counter.Counter // of which turn end is
}

// note keeps the end of a turn, if it is wanted. Owner only.
func (e *turnEnd) note(number uint64, now int64) {
	if e.wanted.Load() == number {
		e.end.Publish(uint64(now))
		e.of.Publish(number)
	}
}

// WantTurnEnd asks for the end of a turn that goes on. For one watcher.
func (p *Processor) WantTurnEnd(number uint64) { p.time.turn.wanted.Store(number) }

// TurnEnd returns when the turn of that number has ended (CLOCK_MONOTONIC, ns),
// and false if it goes on or is not the one that was wanted last. From any
// thread.
func (p *Processor) TurnEnd(number uint64) (end int64, ok bool) {
	e := &p.time.turn
	if e.of.Load() != number {
		return 0, false
	}
	end = int64(e.end.Load())
	return end, e.wanted.Load() == number
}
