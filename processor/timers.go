package processor

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/mpsc"
	"github.com/netco-go/netco/timer"
)

// Func calls a function at a given time, in a coroutine of its own on the
// Func's home. Any thread may stop the Func or change the time.
//
// The word when decides:
//
//	when    means                       becomes
//	0       stopped, or it has fired    a time, by Reset
//	a time  it is due then, in ns of    0, by Stop, or by its home at that time,
//	        CLOCK_MONOTONIC             which then calls the function; another
//	                                    time, by Reset
//
// Each change is one atomic step, so each time that is set ends in exactly one
// of these ways. The home's heap follows the word: the owner changes both
// together, other threads change the word and then send the Func to the home
// (retimed). A heap entry that is too early for the word is moved when it
// expires; the entry of a stopped Func has no effect.
//
// A waiting Func keeps nothing alive: neither Run nor Shutdown waits for it,
// and it does not fire once its Scheduler has ended.
type Func struct {
	t    timer.Timer // owner: home
	home *Processor  // constant
	fn   func()      // constant
	site uintptr     // constant: where it was made

	when   atomic.Int64
	queued atomic.Bool // node is in home.retimed
	node   mpsc.Node[Func]
}

// Init makes f, a zero Func, call fn after d, or as soon as possible if d <= 0.
// site is where f was made. It allocates only if the heap must grow. Owner
// only.
func (f *Func) Init(p *Processor, d time.Duration, fn func(), site uintptr) {
	f.home, f.fn, f.site = p, fn, site
	f.node.Value = f
	f.t.F, f.t.Arg = funcDue, f
	f.when.Store(clock.After(d))
	if goruntime.RaceEnabled {
		goruntime.RaceReleaseMerge(f.addr())
		defer coroutine.Own()()
	}
	f.updateHeap()
}

// Stop keeps f from firing and reports whether it was going to. It does not
// park or allocate. Any thread.
func (f *Func) Stop() bool {
	if f.when.Swap(0) == 0 {
		return false
	}
	f.updateHome(false)
	return true
}

// Reset makes f fire after d from now instead, and reports whether it was going
// to fire. It does not park, and allocates only if the heap must grow. Any
// thread.
func (f *Func) Reset(d time.Duration) bool {
	goruntime.RaceReleaseMerge(f.addr())
	active := f.when.Swap(clock.After(d)) != 0
	f.updateHome(true)
	return active
}

// updateHome makes the home's heap follow the word: at once for a caller on the
// home, otherwise in the home's next turn, for which soon wakes the home.
func (f *Func) updateHome(soon bool) {
	p := f.home
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	switch {
	case p.ex.OnThread():
		f.updateHeap()
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

// updateHeap puts f's timer where the word says. A timer that is never due is
// in no heap: the heap would keep it for good. Owner of the home.
func (f *Func) updateHeap() {
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

// begin starts the coroutine of a Func. While the group drains it does so as
// long as a coroutine lives, which may wait for the new one; after that the
// group is about to stop.
func (p *Processor) begin(f *Func) {
	if p.phase >= Stopping || p.group.Phase() >= Draining && !p.group.Active() {
		return
	}
	p.hold()
	p.group.takePermit() // even at the limit: other coroutines may wait for the Func
	fn := f.fn
	if goruntime.RaceEnabled { // everything before Init and Reset comes before the call
		fn = func() {
			goruntime.RaceAcquire(f.addr())
			f.fn()
		}
	}
	p.ex.Spawn(coroutine.SpawnAt(fn, f.site))
}

// retimed holds the Funcs that other threads have stopped or reset.
type retimed struct {
	funcs   mpsc.Queue[Func]
	stopped atomic.Uint32 // how many were ever stopped by other threads
}

// stoppedRing is how many stopped Funcs wake a sleeping Processor. One alone is
// no reason to wake it, but they must not pile up in the heap.
const stoppedRing = 64

// push adds f, unless f is queued. Any thread.
func (r *retimed) push(f *Func) {
	if !f.queued.Swap(true) {
		r.funcs.Push(&f.node)
	}
}

// retime makes the heap follow the Funcs in retimed. Owner.
func (p *Processor) retime() {
	for n := p.retimed.funcs.Take(); n != nil; {
		f := n.Value
		n = n.Next()
		f.queued.Store(false) // before the word is read: a later change pushes f again
		f.updateHeap()
	}
}
