package processor

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// TurnLimit is how long a turn is to last, in ns: coroutines that go on without
// waiting yield when theirs has lasted so long.
const TurnLimit = turnNs

// TurnAge returns for how many ns the turn of the caller's Processor has
// lasted; 0 for an ordinary goroutine.
func TurnAge() int64 {
	if p := Here(); p != nil {
		return clock.Now() - int64(p.Stats.TurnStart.Load())
	}
	return 0
}

// TurnOver reports whether the turn of the caller's Processor has lasted for
// TurnLimit. It costs a look at the clock.
func TurnOver() bool { return TurnAge() >= TurnLimit }

// YieldTurn is coroutine.YieldTurn that looks for I/O first, so that whom it
// wakes runs before the caller does again. Left to the next turn it would queue
// behind the caller, who may keep the thread for half a millisecond more, or
// for as long as one of its operations is apart from the next. It may move the
// caller, as a wait for an fd does.
func YieldTurn() (stopping bool) {
	co := coroutine.Current()
	if p := Here(); p != nil && co != nil && p.ep.Registered() > 0 {
		pinned := inside.Pin() // the loop must not look for I/O in the middle of it
		p.dispatch(p.ep.Poll())
		pinned.Unpin()
	}
	stopping = coroutine.YieldTurn()
	if co != nil {
		co.MoveOn()
	}
	return stopping
}
