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

// Timer is one event in the future: package time's, for coroutines and
// goroutines alike. NewTimer or AfterFunc makes one. Its methods may be called
// from anywhere.
//
// As in package time since Go 1.23, nothing of what was set before a Stop or
// Reset is received after it, Len and Cap of C are always 0, and a Timer that
// is not referred to any more is garbage, stopped or not.
type Timer struct {
	C  *channel.Chan[time.Time] // gives the time, once; nil with AfterFunc
	on alarm
}

// timed is a channel on which time sends.
type timed = ticking.Timed[channel.Chan[time.Time]]

// alarm is what works behind a Timer: a timed, a processor.Func, or a
// time.Timer.
type alarm interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// NewTimer returns a Timer whose channel C gives the time after d. The time is
// that at which it was due, also if it is received later. It allocates once.
// Does not park.
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

// After returns a channel that gives the time after d: NewTimer(d).C. It costs
// nothing to lose interest in it.
func After(d time.Duration) *channel.Chan[time.Time] { return NewTimer(d).C }

// AfterFunc returns a Timer that calls f after d, in a coroutine of its own,
// which runs on the caller's Processor, or if an ordinary goroutine made the
// Timer where Go would start it. It allocates once, and again when f is called.
// Does not park.
//
// A Timer that waits holds nothing up: Run and Shutdown do not wait for it, and
// once the Scheduler to which it belongs (the caller's, or the default one) has
// ended, f is not called any more. f is an ordinary goroutine's if there is no
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
		return &Timer{on: afterOutside(d, f, site)}
	}
	t := &struct {
		Timer
		fn processor.Func
	}{}
	t.fn.Init(p, d, f, site)
	t.on = &t.fn
	return &t.Timer
}

// afterOutside is AfterFunc for an ordinary goroutine: Go's clock, and a
// coroutine of the default Scheduler.
func afterOutside(d time.Duration, f func(), site uintptr) *time.Timer {
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
		s.GoWith(sp) // or it has ended
	})
}

// Stop keeps the Timer from firing. It reports whether it does: false means
// that the Timer was stopped before, or that it has fired: its time has been
// received, or f's coroutine has been started, which Stop does not wait for.
// Does not park or allocate.
func (t *Timer) Stop() bool { return t.alarm("Stop").Stop() }

// Reset makes the Timer fire after d from now, and not when it was to. It
// reports whether it was to fire: false means that it had fired, as for Stop,
// or was stopped. For AfterFunc's that had, f is called once more, perhaps
// while it still runs. Does not park.
func (t *Timer) Reset(d time.Duration) bool { return t.alarm("Reset").Reset(d) }

func (t *Timer) alarm(method string) alarm {
	if t.on == nil {
		panic("netco: " + method + " called on uninitialized Timer")
	}
	return t.on
}

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
