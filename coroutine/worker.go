package coroutine

import (
	"runtime/debug"
	"sync/atomic"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/invariant"
)

// worker is a goroutine of an executor's pool: a context and the coroutine that
// runs on it. A fiber has a worker, too; if the fiber's home is an ordinary
// goroutine, the worker has no ex and no co.
//
// Owner: the executor's owner; co, ex and fiber are also read by CurrentWorker
// on the goroutine itself, co and inner by any thread. See handoff.go
// for away and pinning.
//
// The fields that a switch and CurrentWorker touch come first: one cache line.
type worker struct {
	ctx     context.Context
	ex      *Executor
	co      counter.Pointer[Coroutine] // nil while idle, and always for the loop in the table
	pinning inside.Pinning             // odd while its goroutine may be left behind, or move
	away    away                       // whether the loop drives the coroutine

	gone     bool // its goroutine is ending: a later goroutine gets its identity
	hooked   bool // owner: its coroutine has started with hooks
	shielded bool // owner: no wait of its coroutine is ended by force, see Shield
	moved    bool // owner: its coroutine began on another executor

	fiber *fiber                 // the fiber that it belongs to, or nil
	inner counter.Pointer[fiber] // the fiber that it, or the coroutine on it, has resumed

	watch *contextWatch // owner: of the context that limits its coroutine's present waits

	race      raceWorker
	blockedBy counter.Pointer[Holder] // owner: writes; of the lock that its coroutine waits for
	handoffs  atomic.Uint32           // owner: writes; how often its coroutines were left behind
	credit    uint8                   // owner: runs of its coroutine that are to have a standby
	paid      bool                    // owner: its coroutine has had credit of the function
}

// attach gives co a worker to run on. It makes new workers on the loop's stack:
// making a goroutine calls deep, which grew a parking coroutine's stack from 2
// KiB to 4 for good (5,252 B of resident memory for an idle connection, not
// 3,435: netco-bench conns).
func (ex *Executor) attach(co *Coroutine) *worker {
	var w *worker
	if n := len(ex.idle); n > 0 {
		w = ex.idle[n-1]
		ex.idle[n-1] = nil
		ex.idle = ex.idle[:n-1]
		ex.unused = min(ex.unused, n-1)
		ex.Stats.Reused.Inc()
	} else {
		w = ex.newWorker()
	}
	w.co.Set(co)
	co.w.Set(w)
	if ex.slowResume {
		w.takeCredit()
	}
	return w
}

func (ex *Executor) newWorker() *worker {
	w := new(worker)
	w.setExecutor(ex)
	ex.Stats.Workers.Inc()
	ex.Stats.Made.Inc()
	w.ctx.Init(workerMain)
	return w
}

// workerMain is what a worker's context runs: one coroutine after the other
// until the worker is not needed. It is no method value, which would be one
// more allocation for each worker.
//
// The race detector must not count calls in one context and returns in another,
// so the functions that change the context are not instrumented: workerMain,
// finish, call and end.
//
//go:norace
func workerMain(c *context.Context) {
	w := workerOf(c)
	w.raceStart()
	enroll(w)
	defer w.finish() // also when a Goexit unwinds the goroutine, see call
	for {
		w.call()
		w.end()
		if w.chain() {
			continue
		}
		ex := w.ex // it may change each time, see MoveTo
		if len(ex.idle) >= ex.keep {
			return
		}
		ex.idle = append(ex.idle, w)
		goruntime.SetLabels(nil) // otherwise the labels' memory stays reachable
		w.ctx.Suspend()
		if w.co.Own() == nil {
			return // resumed by EndIdle
		}
	}
}

// finish ends the worker; after a Goexit it first ends the coroutine. The
// runtime then resumes the loop, which is parked in the worker's context.
//
//go:norace
func (w *worker) finish() {
	if w.co.Own() != nil {
		defer w.finish() // deferred, as a Local's Drop may unwind too
		w.end()
		return
	}
	expel(w)
	w.gone = true
	w.ex.Stats.Workers.Dec()
	w.raceRetire()
}

// chain takes on the next coroutine of the run queue if it has not started: it
// then runs right here, on this warm stack. That saves two switches: in a burst
// a short coroutine takes 46 ns from start to end instead of 107.
func (w *worker) chain() bool {
	ex := w.ex
	co := ex.runq.front()
	if co == nil || co.w.Own() != nil || ex.budget <= 0 || ex.preempt.Load() {
		return false
	}
	if ex.slowResume && !w.mayChain(co) {
		return false
	}
	ex.runq.pop()
	if ex.budget--; ex.budget&(clockEvery-1) == 0 {
		ex.checkClock()
	}
	ex.current.Set(co)
	w.co.Set(co)
	co.w.Set(w)
	ex.Stats.Reused.Inc()
	return true
}

// mayChain reports whether w may take on co right here, while slowResume is
// set.
func (w *worker) mayChain(co *Coroutine) bool {
	return !w.ex.regions && !w.ex.needsStandby(co)
}

// call runs the coroutine's function and deals with a panic. It does not return
// if a Goexit ended the coroutine, nor if a deferred call then panicked: when
// that panic has been recovered, the runtime goes on with the Goexit.
//
//go:norace
func (w *worker) call() {
	co := w.co.Own()
	clean(co.tags)
	co.tags = nil
	w.pinning.Begin() // before the return: its locals' Drop may block

	if co.cancelRequest.Load() != 0 { // of this incarnation or an earlier one
		w.ex.checkCancel(co)
	}
	cancelled := co.cancelled
	w.raceBegin(co)
	if cancelled {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := Recovered(recover()); value != nil {
			w.rejoin()
			w.ex.panicked(w.co.Own(), value)
		}
	}()
	if list := hooks.Load(); list != nil {
		w.hooked = true
		nest(*list, w.co.Own().fn)
	} else {
		w.co.Own().fn()
	}
	if invariant.Enabled {
		holdsNothing("returns")
	}
	returned = true
}

// clean resets the calling goroutine to the state of a new one: its creator's
// profiler labels, and no SetPanicOnFault. A coroutine that ran on it before
// may have changed both.
func clean(l labels) {
	goruntime.SetLabels(l)
	debug.SetPanicOnFault(false)
}

// end marks the coroutine as ended, wakes its joiners, and gives its struct
// back.
//
//go:norace
func (w *worker) end() {
	co := w.co.Own()
	if w.away.load() != attached {
		w.rejoin()
	}
	co.checkLocks(w.ex, "ends")
	for co.locals.any() || co.children != nil && co.children.any() {
		if c := co.children; c != nil && c.any() {
			c.end() // before the locals, whose values the children may use
		}
		w.dropLocals()
		w.rejoin()
	}
	w.pinning.Pin()
	w.raceEnd(co)
	ex := w.ex // read here: the coroutine may have moved
	children := co.children
	w.co.Set(nil)
	co.w.Set(nil)
	ex.Stats.Ended.Inc()
	if ex.ended != nil {
		ex.ended() // before others see the end: a joiner may want the permit
	}
	co.id.Publish(0) // before joins is read: a joiner that queues later sees that co has ended
	co.status.SetOrdered(uint64(Dead))
	co.fn, w.hooked, w.moved = nil, false, false
	w.credit, w.paid = 0, false
	co.name.SetOrdered(nil)
	co.site.SetOrdered(0)
	co.woken, co.cancelled, co.pinned, co.children = false, false, false, nil
	co.waiter.Link = nil
	co.ticket++ // a late wake names the old ticket
	if j := co.joins.Load(); j != nil && j.joiners.Load() != nil {
		j.wake()
	}
	ex.Stats.Live.Dec()
	if children != nil {
		children.leave()
	}
	ex.pool.Put(co)
}

// dropLocals drops the coroutine's locals before its end. It stops at a Drop
// that panics.
func (w *worker) dropLocals() {
	catch(w.co.Own().locals.drop, func(value any) {
		w.rejoin()
		w.ex.panicked(w.co.Own(), value)
	})
}

// The rest is for package channel's operations among coroutines of one
// Processor: calls that the compiler inlines, without checks that channel's
// fast path has made.

// Worker is the goroutine of a coroutine or of a loop, see [CurrentWorker]. Its
// methods are for the owner.
type Worker = worker

// DrivenBy returns the executor whose loop drives the caller; nil for an
// ordinary goroutine, and for a coroutine that was left behind, for which
// CurrentWorker would wait.
func DrivenBy() *Executor {
	if w := driven(); w != nil {
		return w.ex
	}
	return nil
}

// Executor returns the executor.
func (w *worker) Executor() *Executor { return w.ex }

// Waiter returns the coroutine's waiter, prepared for its next Park, or nil for
// the loop.
func (w *worker) Waiter() *Waiter {
	co := w.co.Own()
	if co == nil {
		return nil
	}
	co.waiter.Prepare()
	return &co.waiter
}

// Park is Coroutine.Park of the caller.
func (w *worker) Park(reason Reason) Wake { return w.co.Own().Park(reason) }

// MoveOn is Coroutine.MoveOn of the caller.
func (w *worker) MoveOn() {
	if invariant.Enabled {
		holdsNothing("may move")
	}
	if w.ex.lend.Load() != nil {
		w.co.Own().moveOn()
	}
}

// WakeHere is Wake of a waiter that stands for a coroutine of the same
// executor.
func (w *worker) WakeHere(to *Waiter) {
	if goruntime.RaceEnabled {
		to.co.raceWake()
		defer w.enter()()
	}
	co, q := to.co, &w.ex.runq
	tail, buf := q.tail, q.buf
	if co.ticket != to.ticket.Own() || uint16(co.status.Own()) != inChannel ||
		tail-q.head == uint64(len(buf)) {
		w.ex.MakeReady(co, to.ticket.Own(), WakeReady)
		return
	}
	co.wake = WakeReady
	co.ticket++
	co.setState(Ready, ReasonNone, w.ex.stamp)
	buf[tail&uint64(len(buf)-1)] = co
	q.tail = tail + 1
}

// inChannel is the status word of a wait for a channel, without the time.
const inChannel = uint16(Waiting) | uint16(ReasonChannel)<<8
