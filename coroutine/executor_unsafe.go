package coroutine

import (
	"runtime/trace"
	"sync/atomic"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/objpool"
)

// Host is what an executor needs from the Processor around it. None of it is called per event.
type Host interface {
	// Post queues a coroutine that another thread has woken, so that Arrive is called for it on the owning thread.
	Post(co *Coroutine)
	// ParkUntil parks co, the calling coroutine, until it is made ready or the deadline (CLOCK_MONOTONIC, ns) passes.
	ParkUntil(co *Coroutine, reason Reason, deadline int64) Wake
	// Panicked reports whether it has dealt with a panic of co; if not, the program crashes.
	Panicked(co *Coroutine, value any, stack []byte) bool
}

// Config is what an executor is made with.
type Config struct {
	Host    Host
	Idle    int  // how many idle goroutines, with their stacks, are kept for reuse
	Handoff bool // let coroutines hand over to one another where the backend can
}

// Executor runs the coroutines of one thread. All fields: owner: the thread, unless they say otherwise.
type Executor struct {
	budget   int              // resumes left in this turn
	ahead    *context.Context // the context of the run queue's oldest if it has started, else nil: see take
	runq     runQueue
	loop     context.Context
	current  counter.Pointer[Coroutine] // read by any thread
	stamp    uint64                     // the time that a changed status gets, see status.go and SetClock
	deadline int64                      // CLOCK_MONOTONIC, when the turn ends whatever the budget
	express  int                        // how many that other threads woke may still go in front, see Arrive
	stopping bool                       // by force: parks return at once
	viaLoop  bool                       // every switch passes the loop although the backend could hand over

	host    Host
	handoff bool // coroutines hand over to one another
	chain   bool // a worker whose coroutine ended starts the next itself
	keep    int
	idle    []*worker // LIFO: the stack used last is the warmest
	workers []*worker // all, so that the contexts stay reachable
	pool    *objpool.Pool[Coroutine]
	loopIs  *worker // the loop's entry in the table
	locks   uintptr // the loop's thread locks, see asm.Where
	ids     struct{ next, end uint64 }

	fibers []*fiber // all that have a goroutine, so that the contexts stay reachable
	hands  []*shell // idle ones, LIFO
	traced traced   // see runs.go
	unborn *kin     // what binds the coroutine that is made here next, see StartChild
	doomed []*fiber // whose goroutines the loop is to end
	asked  []*peek  // questions for coroutines that were ready

	Stats Stats

	_         [64]byte    // what follows is written by other threads, what precedes at every switch
	attention atomic.Bool // something has come for the loop: hand no more over, see Notice
	_         [63]byte
}

// Stats are an executor's counters; any thread may read them.
type Stats struct {
	Live    counter.Counter // coroutines that have not ended: started, or in the run queue
	Spawned counter.Counter
	Ended   counter.Counter
	Workers counter.Counter // goroutines, running, parked or idle
	Made    counter.Counter // goroutines ever made
	Resumes counter.Counter // times a coroutine was given the thread
	ByLoop  counter.Counter // of these, by the loop; the others were handed over directly
	Panics  counter.Counter
	Reused  counter.Counter // coroutines started on a goroutine that was there
}

// Init prepares the executor. To be followed by Enter on the thread that will run it.
func (ex *Executor) Init(c Config) {
	ex.host, ex.keep = c.Host, c.Idle
	ex.chain = c.Handoff
	ex.handoff = c.Handoff && context.Symmetric()
	ex.viaLoop = !c.Handoff && context.Symmetric()
	ex.pool = objpool.New(objpool.Options[Coroutine]{Cap: max(c.Idle, -1), Chunk: int(poolChunk)})
}

// poolChunk is how many coroutines are allocated at once: as many as fill one of the allocator's 8 KiB blocks.
const poolChunk = (8<<10 - 8) / unsafe.Sizeof(Coroutine{})

// Enter makes the calling goroutine the loop. It stays so until Leave.
func (ex *Executor) Enter() {
	ex.loop.InitLoop()
	ex.loopIs = &worker{ex: ex}
	ex.loopIs.ctx.InitLoop()
	enroll(ex.loopIs)
	_, ex.locks = asm.Where()
}

// Leave ends the idle goroutines and what Enter began. Precondition: no coroutine lives.
func (ex *Executor) Leave() {
	ex.Trim(0)
	expel(ex.loopIs)
}

// Spawn makes a coroutine and queues it to run here. Owner only. Does not park.
func (ex *Executor) Spawn(fn func(), name string, site uintptr) *Coroutine {
	co := ex.reuse(fn, name, site)
	ex.Adopt(co)
	return co
}

// Make makes a coroutine that some executor will adopt, this one or another. Owner only.
func (ex *Executor) Make(fn func(), name string, site uintptr) *Coroutine {
	co := ex.reuse(fn, name, site)
	co.ex.Set(nil) // until it is adopted: who still wakes a former life must not take it for this thread's
	return co
}

func (ex *Executor) reuse(fn func(), name string, site uintptr) *Coroutine {
	co := ex.pool.Get()
	if co.node.Value == nil {
		co.init()
	}
	kin := ex.expected() // before what is inherited is made, which may make others
	co.born(fn, name, site, ex.newID())
	co.bind(kin)
	return co
}

// Adopt queues a coroutine from Make or Unadopted to run here. Owner only. Before the next Run the caller must give back the lock
// under which it was found: so that either Handle.Stop sees its executor or it sees the notice, see call.
func (ex *Executor) Adopt(co *Coroutine) {
	if co.ex.Own() != ex {
		co.ex.Set(ex)
	}
	co.setState(Ready, ReasonNone, ex.stamp)
	ex.Stats.Live.Inc()
	ex.Stats.Spawned.Inc()
	ex.runq.push(co)
}

// Queued returns how many coroutines are ready to run. Owner only.
func (ex *Executor) Queued() int { return ex.runq.len() }

// Rest is to be called before the thread sleeps: it lets go of what the
// coroutines that have run have left behind. Owner only.
func (ex *Executor) Rest() { ex.runq.rest() }

// Current returns the coroutine that has the thread, or nil; from any thread, it may be over by then.
func (ex *Executor) Current() *Coroutine { return ex.current.Load() }

// clockEvery is how many resumes may pass before the turn's deadline is looked at. A power of two.
const clockEvery = 64

// next takes what runs now: a ready coroutine's context, or the loop's if none is ready or the budget is used up.
func (ex *Executor) next() *context.Context {
	if ex.budget <= 0 || ex.runq.tail == ex.runq.head || !ex.handoff || ex.attention.Load() || ex.ahead == nil && ex.wantsWorker() {
		return &ex.loop
	}
	return ex.take()
}

// wantsWorker reports whether the run queue's oldest needs a goroutine that is yet to be made. The loop makes those: on the stack of
// the coroutine that parks, the allocations would double that stack, for good. Precondition: the run queue is not empty.
func (ex *Executor) wantsWorker() bool {
	return len(ex.idle) == 0 && ex.runq.buf[ex.runq.head&ex.runq.mask].w == nil
}

// Notice makes the thread pass the loop at its next switch, from any thread: the host's inbox has something in it.
func (ex *Executor) Notice() {
	if !ex.attention.Load() {
		ex.attention.Store(true)
	}
}

// Noticed takes Notice back. The loop calls it before it looks into the inbox.
func (ex *Executor) Noticed() {
	if ex.attention.Load() {
		ex.attention.Store(false)
	}
}

// take gives the thread to the run queue's oldest and returns its context. Preconditions: the run queue is not empty.
//
// It looks one further ahead while it is at it, so that the next take finds the context without following
// pointers, and the switch meanwhile prefetches it.
func (ex *Executor) take() *context.Context {
	if ex.budget--; ex.budget&(clockEvery-1) == 0 {
		ex.checkClock()
	}
	co := ex.runq.pop()
	ex.current.Set(co)
	to := ex.ahead
	if to == nil {
		if co.w == nil {
			ex.attach(co)
		}
		to = &co.w.ctx
	}
	ex.look()
	return to
}

// look sets ahead. It is called whenever the run queue's oldest has changed; a push to an empty queue may leave it nil.
func (ex *Executor) look() {
	if ex.runq.tail == ex.runq.head || !ex.handoff {
		ex.ahead = nil
	} else if w := ex.runq.buf[ex.runq.head&ex.runq.mask].w; w != nil {
		ex.ahead = &w.ctx
	} else {
		ex.ahead = nil
	}
}

// warm returns what the switch should prefetch: what runs next, or the loop.
func (ex *Executor) warm() *context.Context {
	if ex.ahead != nil {
		return ex.ahead
	}
	return &ex.loop
}

// checkClock ends the turn early when its time is over.
func (ex *Executor) checkClock() {
	if clock.Now() > ex.deadline {
		ex.budget = 0
	}
}

// maxExpress bounds what quiet times save up for coroutines that other threads wake.
const maxExpress = 64

// Run gives the thread to ready coroutines, at most budget of them and until about deadline (CLOCK_MONOTONIC, ns), and
// returns how many it resumed. Owner only, on the loop.
func (ex *Executor) Run(budget int, deadline int64) int {
	ex.budget, ex.deadline = budget, deadline
	if on := wantsRegions(); on != ex.traced.on {
		ex.followTracing(on)
	}
	if len(ex.doomed) > 0 {
		ex.bury()
	}
	if len(ex.asked) > 0 {
		ex.budget = askedBudget(budget)
	}
	given := 0
	for ex.budget > 0 && ex.runq.len() > 0 && (given == 0 || !ex.attention.Load()) { // one, or notices could starve them all
		to := ex.take()
		given++
		var region *trace.Region
		if ex.traced.on {
			region = ex.region()
		}
		if context.Symmetric() {
			ex.loop.Switch(to, ex.warm())
			if ex.loop.Relaying() {
				ex.loop.PassOn()
			}
		} else {
			ex.loop.Resume(to)
		}
		if region != nil {
			region.End()
		}
	}
	ex.current.Set(nil)
	ex.budget = 0
	if len(ex.asked) > 0 {
		ex.lookAsked() // who is still ready will be resumed by another Run
	}
	resumed := ex.runq.taken()
	ex.express = min(ex.express+int(resumed-ex.Stats.Resumes.Own()), maxExpress)
	ex.Stats.ByLoop.Add(uint64(given)) // first, so that who reads them the other way round never sees too few by the loop
	ex.Stats.Resumes.Set(resumed)
	return given
}

// Stop makes every park of this executor end at once with WakeShutdown, those under way included. Owner only.
func (ex *Executor) Stop() {
	ex.stopping = true
	ex.handoff, ex.viaLoop, ex.ahead = false, false, nil // so that Yield looks
	for _, w := range ex.workers {
		if co := w.co.Own(); co != nil && State(co.status.Own()&0xff) == Waiting && !co.firm {
			ex.Ready(co, co.ticket, WakeShutdown)
		}
	}
}

// Stopping reports whether Stop was called. Owner only.
func (ex *Executor) Stopping() bool { return ex.stopping }

// Wake is Waiter.Wake on the owning thread.
func (ex *Executor) Wake(w *Waiter) {
	if w.co != nil && w.co.ex.Load() == ex {
		w.co.Prefetch()
		ex.Ready(w.co, w.ticket.Load(), WakeReady)
	} else {
		w.Wake()
	}
}

// OnThread reports whether the caller runs on the executor's thread: its loop or one of its coroutines.
func (ex *Executor) OnThread() bool {
	w := self()
	return w != nil && w.ex == ex
}

// Here returns the executor on whose thread the caller runs, as coroutine or loop, or nil.
func Here() *Executor {
	if w := self(); w != nil {
		return w.ex
	}
	return nil
}

// Host returns the host the executor was made with.
func (ex *Executor) Host() Host { return ex.host }

// Each calls f for every started coroutine. Owner only.
func (ex *Executor) Each(f func(*Coroutine)) {
	for _, w := range ex.workers {
		if co := w.co.Own(); co != nil {
			f(co)
		}
	}
}
