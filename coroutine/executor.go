package coroutine

import (
	"runtime/trace"
	"slices"
	"sync/atomic"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/objpool"
)

// Host is an executor's view of the Processor around it. No method is called
// per event, which is why the executor owns the run queue.
type Host interface {
	// Post queues a coroutine that another thread has woken, so that Arrive is
	// called for it on the owning thread.
	Post(co *Coroutine)
	// ParkUntil parks co, the calling coroutine, until it is made ready or the
	// deadline (CLOCK_MONOTONIC, ns) passes.
	ParkUntil(co *Coroutine, reason Reason, deadline int64) Wake
	// Panicked reports whether the host has dealt with a panic of co. If not,
	// the program crashes.
	Panicked(co *Coroutine, value any, stack []byte) bool
	// StartHere is Executor.Spawn; the error says why it started no coroutine.
	// Owner only.
	StartHere(Spawn) (Handle, error)
	// Reap starts a coroutine on the executor's thread, unless the thread has
	// ended. Any thread.
	Reap(fn func())

	// Reserve keeps the Host from ending until Send is called, and returns
	// false if it has ended. It panics if from belongs to another Scheduler.
	// Any thread. It may block for a moment.
	Reserve(from Host) bool
	// Send makes the owner's thread call Settle for co. Any thread.
	Send(co *Coroutine)

	// BeginShared keeps the Scheduler from ending while a coroutine waits
	// shared. Owner only.
	BeginShared()
	// MayShare is called once other threads may take the coroutine, and reports
	// whether it may go on waiting. Owner only.
	MayShare() bool
	// EndShared ends a shared wait that from.BeginShared began. Owner of the
	// executor that has taken the coroutine.
	EndShared(from Host)
}

// Config is the configuration of an executor.
type Config struct {
	Host Host
	Idle int // how many idle goroutines, with their stacks, are kept for reuse

	// Ended, if it is not nil, is called at each coroutine's end, before a
	// Handle shows it. It must not park.
	Ended func()
}

// Executor runs the coroutines of one Processor: its loop, a goroutine, resumes
// them one after the other, and each gives control back to the loop. Its owner
// is the loop or the current coroutine, whichever runs: one thread at a time.
// All fields are the owner's unless their comment says otherwise.
type Executor struct {
	budget       int // resumes left in this turn
	runq         runQueue
	loop         context.Context            // identity only: it is not resumed
	current      counter.Pointer[Coroutine] // read by any thread
	leftBehind   *worker                    // the worker that the loop has left behind, see wentOn
	moving       *Coroutine                 // suspended, to go to movingTo, see MoveTo; or nil
	movingTo     *Executor
	stamp        uint64 // the time of the turn, for status words, see stampUnit and SetClock
	deadline     int64  // CLOCK_MONOTONIC, when the turn ends whatever the budget
	remoteBoost  int    // remote wakes that may still go in front, see Arrive
	stopping     bool   // by force: parks return at once
	regions      bool   // runs are regions of the execution trace, see runs.go
	slowResume   bool   // this turn: regions are made, or credit is checked, see standby.go
	freeStandbys uint8  // how many of the next starts get a standby without credit

	lend atomic.Pointer[func() *Executor] // owner: writes; see Lend

	shared  *Executor // constant: the home of coroutines that wait shared; nil for none
	sharing *byte     // constant: the same for all executors that share; nil for none

	host       Host
	ended      func() // Config.Ended
	keep       int
	idle       []*worker // LIFO: the stack used last is the warmest
	unused     int       // how many of idle no coroutine has needed since the last Trim
	pool       *objpool.Pool[Coroutine]
	loopWorker *worker // the loop's entry in the table
	locks      uintptr // the loop's thread locks, see asm.Where
	ids        ids

	idleFibers []*fiberHandle // LIFO

	standby atomic.Pointer[Standby] // nil for none; any thread

	Stats Stats
	race  raceOwner

	_       [64]byte    // other threads write preempt; every switch writes the fields above
	preempt atomic.Bool // the turn is to end, see RequestPreempt
	_       [63]byte
}

// Stats are an executor's counters; any thread may read them.
type Stats struct {
	Live    counter.Counter // coroutines that have not ended: started, or in the run queue
	Spawned counter.Counter
	Ended   counter.Counter
	Workers counter.Counter // goroutines, running, parked or idle
	Made    counter.Counter // goroutines ever made
	Resumes counter.Counter // times a coroutine was given the thread
	Panics  counter.Counter
	Reused  counter.Counter // coroutines started on a goroutine from the pool

	Handoffs counter.Counter // times the loop ran on without a blocked coroutine
	Outside  counter.Counter // coroutines left behind and not back
	Standbys counter.Counter // runs that began with a standby, see standby.go
}

// Init prepares the executor. The goroutine that will be its loop then calls
// Enter.
func (ex *Executor) Init(c Config) {
	ex.host, ex.keep, ex.ended, ex.freeStandbys = c.Host, c.Idle, c.Ended, freeAtFirst
	ex.pool = objpool.New[Coroutine](int(poolChunk), c.Idle)
}

// Enter makes the calling goroutine the loop. It remains so until Leave.
func (ex *Executor) Enter() {
	ex.loop.Identify()
	ex.loopWorker = &worker{ex: ex}
	ex.loopWorker.ctx.Identify()
	enroll(ex.loopWorker)
	_, ex.locks = asm.Where()
	ex.raceEnter() // last: the coroutines see everything that Enter did
}

// Leave undoes Enter and ends the idle goroutines. Precondition: no coroutine
// lives.
func (ex *Executor) Leave() {
	ex.EndIdle(len(ex.idle))
	ex.trimFibers()
	ex.runq.free()
	expel(ex.loopWorker)
	ex.raceLeave()
}

// trimMax bounds the time of a Trim: to end a goroutine takes 0.3 µs.
const trimMax = 1024

// Trim ends idle goroutines that no coroutine has needed since the last Trim.
// To make one anew costs 1 µs, and each garbage collection takes 3 to 10 µs to
// scan its stack. Owner only, on the loop.
func (ex *Executor) Trim() {
	ex.EndIdle(min(ex.unused, trimMax))
	ex.unused = len(ex.idle)
}

// EndIdle ends n idle goroutines, or as many as there are, those idle for
// longest first. Owner only, on the loop.
func (ex *Executor) EndIdle(n int) {
	n = min(n, len(ex.idle))
	for _, w := range ex.idle[:n] {
		w.ctx.Resume(&w.ctx)
		w.raceGone()
	}
	ex.idle = slices.Delete(ex.idle, 0, n)
	ex.unused = max(ex.unused-n, 0)
}

// Spawn makes a coroutine and queues it to run here. Owner only. Does not park.
func (ex *Executor) Spawn(s Spawn) *Coroutine {
	co := Make(ex, &s)
	ex.Adopt(co)
	return co
}

// Adopt queues a coroutine from Make to run here. Owner only.
//
// Before the next Run the caller must release the lock under which it found the
// coroutine: then either Handle.Stop sees the executor, or the coroutine sees
// the request, see worker.call.
func (ex *Executor) Adopt(co *Coroutine) {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	co.ex.Set(ex)
	co.setState(Ready, ReasonNone, ex.stamp)
	ex.Stats.Live.Inc()
	ex.Stats.Spawned.Inc()
	ex.runq.push(co)
}

// Queued returns how many coroutines are ready to run. Owner only.
func (ex *Executor) Queued() int { return ex.runq.len() }

// Taken returns how many coroutines were ever taken from the run queue. Owner
// only.
func (ex *Executor) Taken() uint64 { return ex.runq.taken() }

// Rest drops the run queue's references to coroutines that have run. The host
// calls it before the thread sleeps. Owner only.
func (ex *Executor) Rest() { ex.runq.rest() }

// Current returns the coroutine that has the thread, or nil. Any thread; the
// answer may be out of date at once.
func (ex *Executor) Current() *Coroutine { return ex.current.Load() }

// clockEvery is how many resumes may pass before the turn's deadline is
// checked. A power of two.
const clockEvery = 64

// RequestPreempt ends the turn at the next switch, because the host's inbox is
// not empty. Any thread.
func (ex *Executor) RequestPreempt() {
	if !ex.preempt.Load() {
		ex.preempt.Store(true)
	}
}

// ClearPreempt undoes RequestPreempt. The loop calls it before it reads the
// inbox.
func (ex *Executor) ClearPreempt() {
	if ex.preempt.Load() {
		ex.preempt.Store(false)
	}
}

// checkClock ends the turn early when its time is over.
func (ex *Executor) checkClock() {
	if clock.Now() > ex.deadline {
		ex.budget = 0
	}
}

// maxRemoteBoost bounds remoteBoost, which grows while no remote wakes come.
const maxRemoteBoost = 64

// Run resumes ready coroutines, at most budget of them and until about deadline
// (CLOCK_MONOTONIC, ns), and returns how many. Owner only, on the loop.
func (ex *Executor) Run(budget int, deadline int64) int {
	ex.budget, ex.deadline = budget, deadline
	ex.regions = tracing.Load() != 0 && trace.IsEnabled()
	ex.slowResume = ex.regions || ex.checksCredit()
	before := ex.runq.taken()
	// The first coroutine runs even if the turn is to end; otherwise preempt
	// requests could starve all coroutines.
	for first := true; ex.budget > 0 && ex.runq.len() > 0 &&
		(first || !ex.preempt.Load()); first = false {
		if ex.budget--; ex.budget&(clockEvery-1) == 0 {
			ex.checkClock()
		}
		if invariant.Enabled {
			holdsNothing("runs a coroutine")
		}
		co := ex.runq.pop()
		w := co.w.Own()
		if w == nil {
			w = ex.attach(co)
		}
		ex.current.Set(co)
		if ex.slowResume {
			ex.startStandby(w)
		}
		switch {
		case ex.regions:
			region := ex.region()
			ex.resume(w)
			region.End()
		case context.Direct(): // resume, inlined to save a return after the switch
			w.ctx.Switch(&ex.upcoming(w).ctx)
			if goruntime.RaceEnabled {
				w.raceGone()
			}
			if ex.leftBehind != nil || ex.moving != nil {
				ex.settleSwitch()
			}
		default:
			ex.resume(w)
		}
	}
	ex.current.Set(nil)
	ex.budget = 0
	resumed := ex.runq.taken()
	ex.remoteBoost = min(ex.remoteBoost+int(resumed-before), maxRemoteBoost)
	ex.Stats.Resumes.Set(resumed)
	return int(resumed - before)
}

// resume runs w until it suspends itself or ends, or is left behind.
func (ex *Executor) resume(w *worker) {
	w.ctx.Resume(&w.ctx)
	w.raceGone()
	if ex.leftBehind != nil || ex.moving != nil {
		ex.settleSwitch()
	}
}

// settleSwitch is called when control has come back to the loop although the
// coroutine neither waits nor has ended: it is left behind, or moves.
func (ex *Executor) settleSwitch() {
	if ex.leftBehind != nil {
		ex.wentOn()
	} else {
		ex.depart()
	}
}

// upcoming returns the worker that will run after w, for the switch to
// prefetch; w itself if that is not known.
func (ex *Executor) upcoming(w *worker) *worker {
	if co := ex.runq.front(); co != nil {
		if next := co.w.Own(); next != nil {
			return next
		}
	}
	return w
}

// Stop makes every park of this executor end at once with WakeShutdown,
// including parks under way. Owner only. It takes as long as a Range.
func (ex *Executor) Stop() {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	ex.stopping = true
	for w := range workers {
		co := w.co.Load()
		if co != nil && co.ex.Load() == ex && State(co.status.Own()&0xff) == Waiting &&
			!co.Shielded() {
			ex.MakeReady(co, co.ticket, WakeShutdown)
		}
	}
}

// Stopping reports whether Stop was called. Owner only.
//
//go:norace
func (ex *Executor) Stopping() bool { return ex.stopping }

// Wake is Waiter.Wake on the owning thread.
func (ex *Executor) Wake(w *Waiter) {
	if w.co == nil {
		w.Wake()
		return
	}
	w.co.raceWake()
	switch home := w.co.ex.Load(); {
	case home == nil: // the wake is for an earlier incarnation
	case home == ex:
		w.co.prefetch()
		ex.MakeReady(w.co, w.ticket.Load(), WakeReady)
	case ex.takes(home) && ex.take(w.co, home):
		ex.MakeReady(w.co, w.co.Ticket(), WakeReady)
	default:
		w.Wake()
	}
}

// OnThread reports whether the caller runs on the executor's thread: the loop,
// or a coroutine that was not left behind.
func (ex *Executor) OnThread() bool {
	w := driven()
	return w != nil && w.ex == ex
}

// CurrentExecutor returns the executor on whose thread the caller runs, as a
// coroutine or as the loop, or nil.
func CurrentExecutor() *Executor {
	if w := CurrentWorker(); w != nil {
		return w.ex
	}
	return nil
}

// Host returns the host the executor was made with.
func (ex *Executor) Host() Host { return ex.host }
