package netco

import (
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/ticking"
	"github.com/netco-go/netco/processor"
)

// Timer is package time's Timer, one event in the future, for coroutines and
// goroutines alike. NewTimer or AfterFunc makes one. Its methods may be called
// from anywhere.
//
// As in package time since Go 1.23, no time from before a Stop or Reset is
// received after it, Len and Cap of C are always 0, and an unreferenced Timer
// is garbage, stopped or not.
type Timer struct {
	C  *channel.Chan[time.Time] // gives the time, once; nil with AfterFunc
	on alarm
}

// timed is a channel on which time sends.
type timed = ticking.Timed[channel.Chan[time.Time]]

// alarm is the implementation of a Timer: a timed, a processor.Func, or a
// time.Timer.
type alarm interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// NewTimer returns a Timer whose channel C gives the time after d. C gives the
// time at which the Timer was due, even to a later receive. NewTimer allocates
// once. Does not park.
//
//go:noinline
func NewTimer(d time.Duration) *Timer { // not inlined, so that no channel can lie on a stack
	t := &struct {
		Timer
		timed timed
	}{}
	t.timed.Init(d, 0)
	t.C, t.on = t.timed.Chan(), &t.timed
	return &t.Timer
}

// After returns a channel that gives the time after d: NewTimer(d).C. The
// program may drop the channel at any time.
func After(d time.Duration) *channel.Chan[time.Time] { return NewTimer(d).C }

// AfterFunc returns a Timer that calls f after d, in a coroutine of its own.
// The coroutine runs on the caller's Processor, or where Go would start it if
// an ordinary goroutine made the Timer. AfterFunc allocates once, and again
// when f is called. Does not park.
//
// A Timer that waits holds nothing up: Run and Shutdown do not wait for it, and
// once the Scheduler to which it belongs (the caller's, or the default one) has
// ended, f is not called any more. An ordinary goroutine calls f if there is no
// Scheduler and none can be started, and in a bubble of testing/synctest, by
// the bubble's clock.
//
//go:noinline
func AfterFunc(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("netco: AfterFunc of a nil func")
	}
	site := asm.CallerPC()
	p := processor.Current()
	if p == nil {
		return &Timer{on: afterOnGoroutine(d, f, site)}
	}
	t := &struct {
		Timer
		fn processor.Func
	}{}
	t.fn.Init(p, d, f, site)
	t.on = &t.fn
	return &t.Timer
}

// afterOnGoroutine is AfterFunc for an ordinary goroutine: it uses Go's timer,
// and a coroutine of the default Scheduler.
func afterOnGoroutine(d time.Duration, f func(), site uintptr) *time.Timer {
	if clock.InBubble() {
		return time.AfterFunc(d, f)
	}
	s, err := Default()
	if err != nil {
		return time.AfterFunc(d, f)
	}
	return time.AfterFunc(d, func() {
		sp := coroutine.SpawnAt(f, site)
		sp.Unlimited = true
		s.GoWith(sp) // no effect if s has ended
	})
}

// Stop keeps the Timer from firing, and reports whether it did. False means
// that the Timer was stopped before or has fired: its time has been received,
// or f's coroutine has been started; Stop does not wait for f. Does not park or
// allocate.
func (t *Timer) Stop() bool { return t.alarm("Stop").Stop() }

// Reset makes the Timer fire after d from now, and not at its earlier time. It
// reports whether the Timer was pending: false means that it had fired, as for
// Stop, or was stopped. If a Timer of AfterFunc had fired, f is called once
// more, perhaps while its first call still runs. Does not park.
func (t *Timer) Reset(d time.Duration) bool { return t.alarm("Reset").Reset(d) }

func (t *Timer) alarm(method string) alarm {
	if t.on == nil {
		panic("netco: " + method + " called on uninitialized Timer")
	}
	return t.on
}

// Ticker is package time's Ticker: it gives the time at regular intervals, to
// coroutines and goroutines alike. NewTicker makes one. Its methods may be
// called from anywhere.
//
// A late receiver gets only the latest tick, and the next tick comes at its
// regular time. As in package time since Go 1.23, no tick from before a Stop or
// Reset is received after it, Len and Cap of C are always 0, and an
// unreferenced Ticker is garbage, stopped or not. A Ticker from which nothing
// receives costs nothing.
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

// Tick returns the channel of a new Ticker, or nil, which never gives a time,
// if d is not positive.
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
