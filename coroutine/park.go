package coroutine

import (
	"runtime"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/invariant"
)

// Ticket returns the number of the next park, for MakeReady. Owner only.
//
//go:norace
func (co *Coroutine) Ticket() uint64 { return co.ticket }

// Park gives up the thread until MakeReady is called for the present ticket,
// and returns why it was woken. If MakeReady was called before, it returns at
// once. When the scheduler ends by force, and after Handle.Stop, it returns
// WakeShutdown without waiting. A wake can be early: check the condition again.
//
// Precondition: co is the calling coroutine.
func (co *Coroutine) Park(reason Reason) Wake {
	if invariant.Enabled {
		holdsNothing("waits")
	}
	w := co.w.Own()
	if w.away.load() != attached {
		w.rejoin()
	}
	if goruntime.RaceEnabled { // it acquires in the coroutine's context
		defer co.raceWoken()
		defer w.enter()()
	}
	ex := co.ex.Own()
	if co.woken {
		return co.parkWoken()
	}
	if ex.stopping && !co.Shielded() {
		co.ticket++
		return WakeShutdown
	}
	co.checkLocks(ex, "waits")
	co.setState(Waiting, reason, ex.stamp)
	if !context.Direct() {
		w.suspend()
		return co.wake
	}
	// suspend, inlined to save a return after the switch.
	was := w.pinning.Own()
	w.pinning.Pin()
	w.ctx.Switch(&w.ctx)
	w.pinning.Restore(was)
	return co.wake
}

// MakeReady wakes co from the park with the given ticket. An old ticket has no
// effect. Any thread.
func (co *Coroutine) MakeReady(ticket uint64, why Wake) {
	w := driven() // first: co may move before its executor is read
	if goruntime.RaceEnabled {
		co.raceWake()
		defer w.enter()()
	}
	ex := co.ex.Load()
	if ex == nil {
		return // the ticket is of an earlier incarnation; the present one has not started
	}
	if w != nil && w.ex == ex {
		ex.MakeReady(co, ticket, why)
		return
	}
	if w != nil && w.ex.takes(ex) {
		if w.ex.take(co, ex) {
			w.ex.MakeReady(co, co.Ticket(), WakeReady)
		}
		return // else the park that the ticket names has ended
	}
	next := ticket<<8 | uint64(why)
	for {
		old := co.remote.Load()
		if old>>8 >= ticket {
			return // this ticket or a later one has been woken already
		}
		if co.remote.CompareAndSwap(old, next) {
			break
		}
	}
	if !co.queued.Swap(true) {
		ex.host.Post(co)
	}
}

// Arrive delivers a wake that another thread has posted. Owner only; the host
// calls it for each coroutine in its inbox.
//
// Remote wakes go to the front of the run queue: the waker is probably blocked
// on the result. remoteBoost bounds the preference: remote wakes go first no
// more often than others have run. With 100 coroutines that compute for 5 µs at
// a time, a round trip between a goroutine and a coroutine takes 114 µs, 631 µs
// without.
//
// A Coroutine whose waiter has no coroutine is an inbox function, which another
// thread has sent to be called on this loop, see worker.post.
func (ex *Executor) Arrive(co *Coroutine) {
	co.queued.Store(false) // before the load: a later wake posts again
	home := co.ex.Load()
	if home != nil && ex.takes(home) {
		if ex.take(co, home) {
			ex.MakeReady(co, co.ticket, WakeReady)
			ex.checkCancel(co)
			return
		}
		home = co.ex.Load()
	}
	if home == nil {
		if co.waiter.co == nil { // constant: an inbox function
			co.fn()
		}
		return // the wake was for an earlier incarnation; the next has not been woken
	}
	if home != ex {
		// The wake was for an earlier incarnation, on this executor; a wake for
		// the present one may have relied on this node being on its way.
		if !co.queued.Swap(true) {
			home.host.Post(co)
		}
		return
	}
	word := co.remote.Load()
	queued := ex.runq.tail
	ex.MakeReady(co, word>>8, Wake(word&0xff))
	ex.checkCancel(co)
	if ex.runq.tail != queued && ex.remoteBoost > 0 {
		ex.remoteBoost--
		ex.runq.moveTailToFront()
	}
}

// MakeReady is Coroutine.MakeReady on the owning thread.
func (ex *Executor) MakeReady(co *Coroutine, ticket uint64, why Wake) {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	if co.ticket != ticket || co.woken {
		return
	}
	co.wake = why
	if State(co.status.Own()&0xff) != Waiting {
		co.woken = true // between Prepare and Park
		return
	}
	co.ticket++
	co.setState(Ready, ReasonNone, ex.stamp)
	ex.runq.push(co)
}

// Yield lets the other ready coroutines of this Processor run first. If none is
// ready it returns at once, or lets the loop poll for I/O if it has not done so
// for a while. On an ordinary goroutine it is runtime.Gosched. The caller may
// move, see MoveOn.
func Yield() {
	w := CurrentWorker()
	if w == nil || w.co.Own() == nil {
		runtime.Gosched()
		return
	}
	co := w.co.Own()
	if w.cancelling(co) {
		Unwind()
	}
	if !w.mayYield() {
		return
	}
	if w = co.w.Own(); goruntime.RaceEnabled || !context.Direct() {
		w.pass(false)
	} else { // pass, inlined to save a return after the switch
		co.checkLocks(w.ex, "yields")
		w.ex.runq.push(co)
		was := w.pinning.Own()
		w.pinning.Pin()
		w.ctx.Switch(&w.ctx)
		w.pinning.Restore(was)
	}
	if w.ex.lend.Load() != nil {
		co.moveOn()
	}
}

// mayYield reports whether Yield has a reason to yield.
func (w *worker) mayYield() bool {
	if goruntime.RaceEnabled {
		defer w.enter()()
	}
	ex := w.ex
	if ex.budget > 0 && ex.runq.len() == 0 && !ex.preempt.Load() {
		ex.budget--
		return false
	}
	return true
}

// YieldTurn is Yield that also ends the turn: the loop polls for I/O, timers
// and other threads' wakes before anything else runs. It is for operations that
// can succeed for ever without waiting, and may hold locks: it does not unwind
// the coroutine but reports whether its waits end by force. An ordinary Yield
// among coroutines that are always ready may run hundreds of bursts before
// epoll is asked.
func YieldTurn() (stopping bool) {
	w := CurrentWorker()
	if w == nil || w.co.Own() == nil {
		runtime.Gosched()
		return false
	}
	co := w.co.Own()
	if !w.cancelling(co) {
		w.pass(true)
	}
	return w.cancelling(co)
}

// pass appends the coroutine to the run queue and gives control to the loop; it
// may end the turn.
//
//go:norace
func (w *worker) pass(endTurn bool) {
	if goruntime.RaceEnabled {
		defer w.enter()()
	}
	if endTurn {
		w.ex.budget = 0
	}
	co := w.co.Own()
	co.checkLocks(w.ex, "yields")
	w.ex.runq.push(co)
	co.w.Own().suspend()
}

// Unwind ends the calling coroutine by runtime.Goexit, running its deferred
// calls. A wait that cannot return an error calls it when WakeShutdown ends the
// wait.
func Unwind() { runtime.Goexit() }
