package netco

import (
	"time"

	"github.com/netco-go/netco/channel"
)

// Ticker gives the time at regular intervals: package time's, for coroutines
// and goroutines alike. NewTicker makes one. Its methods may be called from
// anywhere.
//
// A late receiver misses the ticks that have been followed by another, and the
// next comes when it would have come. As in package time since Go 1.23, no tick
// from before a Stop or Reset is received after it, Len and Cap of C are always
// 0, and a Ticker that is not referred to any more is garbage, stopped or not.
// A Ticker from which nothing receives costs nothing.
type Ticker struct {
	C     *channel.Chan[time.Time] // gives the times
	timed timed
}

// NewTicker returns a Ticker whose channel C gives the time every d. It panics
// if d is not positive. It allocates once. Does not park.
//
//go:noinline
func NewTicker(d time.Duration) *Ticker { // not inlined, so that no channel can lie on a stack
	if d <= 0 {
		panic("netco: non-positive interval for NewTicker")
	}
	t := new(Ticker)
	t.timed.Init(d, d)
	t.C = t.timed.Chan()
	return t
}

// Tick returns the channel of a new Ticker, or nil if d is not positive: a
// channel that gives nothing, ever.
func Tick(d time.Duration) *channel.Chan[time.Time] {
	if d <= 0 {
		return nil
	}
	return NewTicker(d).C
}

// Stop turns the Ticker off. It does not close C. Does not park or allocate.
func (t *Ticker) Stop() {
	if t.C != nil { // as in package time, this misuse is harmless
		t.timed.Stop()
	}
}

// Reset makes the next tick come after d from now, and the others every d. It
// panics if d is not positive. Does not park.
func (t *Ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("netco: non-positive interval for Ticker.Reset")
	}
	if t.C == nil {
		panic("netco: Reset called on uninitialized Ticker")
	}
	t.timed.Repeat(d)
}
