package processor

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/mpsc"
	"github.com/netco-go/netco/timer"
)

// Func calls a function, in a coroutine of its own on its home, when its time has come. Any thread may stop it or give it another
// time.
//
// The word when decides:
//
//	when    means                       becomes
//	0       stopped, or it has fired    a time, by Reset
//	a time  it is due then, in ns of    0, by Stop, or by its home when that time has come, which then calls the function;
//	        CLOCK_MONOTONIC             another time, by Reset
//
// Each change is one atomic step, so each time that is set ends in exactly one of these ways. The home's heap only follows: its
// owner changes it along with the word, other threads send the Func to the home (retimed) after they have changed the word. An
// entry that is early, because the word has moved on meanwhile, is put where it belongs when it comes up; one for a Func that has
// been stopped does nothing.
//
// A Func that waits does not count as life: neither Run nor Shutdown waits for it, and it never fires once its scheduler has ended.
type Func struct {
	t    timer.Timer // owner: home
	home *Processor  // constant
	fn   func()      // constant
	site uintptr     // constant: where it was made

	when   atomic.Int64
	queued atomic.Bool // node is in home.retimed
	node   mpsc.Node[Func]
}

// Init prepares f, a zero Func, which fn belongs to, and sets it to fire after d, or as soon as may be if d <= 0. Owner only. It does not
// allocate but what the heap needs to grow.
func (f *Func) Init(p *Processor, d time.Duration, fn func(), site uintptr) {
	f.home, f.fn, f.site = p, fn, site
	f.node.Value = f
	f.t.F, f.t.Arg = funcDue, f
	f.when.Store(after(d))
	f.settle()
}

// after returns the time d from now: never, if that is centuries ahead.
func after(d time.Duration) int64 {
	now := clock.Real()
	when := now + int64(max(d, 0))
	if when < now {
		return math.MaxInt64
	}
	return when
}

// Stop keeps f from firing and reports whether it was going to. Any thread. Does not park or allocate.
func (f *Func) Stop() bool {
	if f.when.Swap(0) == 0 {
		return false
	}
	f.follow(false)
	return true
}

// Reset makes f fire after d from now, and not when it was going to, and reports whether it was going to. Any thread. Does not park or
// allocate but what the heap needs to grow.
func (f *Func) Reset(d time.Duration) bool {
	active := f.when.Swap(after(d)) != 0
	f.follow(true)
	return active
}

// follow makes the home's heap follow the word, at once or soon.
func (f *Func) follow(soon bool) {
	p := f.home
	switch {
	case p.ex.OnThread():
		f.settle()
	case p.alive.Load():
		p.retimed.push(f)
		if soon {
			p.ex.RequestPreempt()
			p.ep.Ring()
		} else if p.retimed.stopped.Add(1)%stoppedRing == 0 {
			p.ep.Ring()
		}
	}
}

// settle puts f's timer where the word says. Owner of the home only. One that is never due is on no heap, which would keep it for ever.
func (f *Func) settle() {
	if when := f.when.Load(); when == 0 || when == math.MaxInt64 {
		f.home.timers.Cancel(&f.t)
	} else {
		f.home.timers.Set(&f.t, when)
	}
}

// funcDue is the function of the Funcs' timers.
func funcDue(arg any, now int64) {
	f := arg.(*Func)
	for {
		when := f.when.Load()
		if when > now {
			f.home.timers.Set(&f.t, when)
			return
		}
		if when == 0 {
			return
		}
		if f.when.CompareAndSwap(when, 0) {
			f.home.begin(f)
			return
		}
	}
}

// begin starts the coroutine of a Func. While the scheduler drains it does so as long as something lives, which may wait for just that;
// then the scheduler is ending, and what would begin now would have to be ended.
func (p *Processor) begin(f *Func) {
	if p.phase >= Stopping || p.group.Phase() >= Draining && !p.group.Active() {
		return
	}
	p.hold()
	p.group.takePermit() // at the limit too: what it is for may be what others wait for
	p.ex.Spawn(coroutine.Spec{Fn: f.fn, Site: f.site})
}

// retimed are the Funcs that other threads have stopped or given another time.
type retimed struct {
	funcs   mpsc.Queue[Func]
	stopped atomic.Uint32 // how many were ever stopped so
}

// stoppedRing is for how many stopped Funcs a Processor that sleeps is woken: to take one off the heap is no reason to, but they must not
// pile up.
const stoppedRing = 64

// push adds f, if it is not there. Any thread.
func (q *retimed) push(f *Func) {
	if !f.queued.Swap(true) {
		q.funcs.Push(&f.node)
	}
}

// retime acts on what other threads have done to Funcs.
func (p *Processor) retime() {
	for n := p.retimed.funcs.Take(); n != nil; {
		f := n.Value
		n = n.Next()
		f.queued.Store(false) // before the look at the word: a later change sends it again
		f.settle()
	}
}
