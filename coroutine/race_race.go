//go:build race

package coroutine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
)

// The race detector must not take a switch for synchronisation: two coroutines
// of one Processor are ordered by the operations that would order two
// goroutines, and by nothing else. docs/internals/switch.md has the model.
//
// The detector knows a goroutine by its context (goruntime.RaceContext). A
// goroutine that runs for an executor has one of these:
//
//	the owner's    of the loop's goroutine. A coroutine's goroutine has it, too,
//	               while it touches the owner's fields, from enter to leave,
//	               and at each switch. So one goroutine touches all of the
//	               owner's fields, as far as the detector knows.
//	a coroutine's  made where it begins to run, ended at its end. It descends
//	               from the executor's root, which never runs: nothing that a
//	               coroutine or the loop has done comes before it.
//
// enter is called where the loop drives the caller, and leave before the caller
// may be left behind: then no two threads use the owner's context at once.
//
// The detector counts calls, by context. A coroutine that moves calls Switch in
// one owner's context and returns in another's. So neither Switch nor its
// callers, down to the function that calls enter, are instrumented.
//
// Each operation that orders coroutines reports it to the detector, by the
// functions below: a coroutine acquires started when it begins to run and at
// the end of each park, and releases ended at its end.

// contexts says whether coroutines have contexts of their own. They have none
// if netco does not understand the runtime's structs; then each switch orders.
var contexts = hasContexts()

func hasContexts() bool {
	err := goruntime.FindRace()
	if err != nil {
		fmt.Fprintf(os.Stderr, "netco: %v; the race detector takes the coroutines of one "+
			"Processor for one goroutine\n", err)
	}
	return err == nil
}

// raceOwner has an executor's fields for the race detector.
type raceOwner struct {
	context, root goruntime.RaceContext
	ended         byte // the address that all its coroutines release at their ends
	turns         byte // see worker.turn
	calls         bool // in Call
}

// started and ended are addresses that stand for the start and the wakes of co,
// and for its end. Nothing else synchronises through them.
func (co *Coroutine) started() unsafe.Pointer { return unsafe.Pointer(&co.fn) }
func (co *Coroutine) over() unsafe.Pointer    { return unsafe.Pointer(&co.tags) }

// raceEnter begins the owner's context, on the loop's goroutine.
func (ex *Executor) raceEnter() {
	if contexts {
		ex.race.context = goruntime.OwnRaceContext()
		ex.race.root = goruntime.NewRaceContext(ex.race.context, 0)
	}
}

// SeeEnds orders everything that ended coroutines did before everything that
// the caller does, or makes others do, from now on. Owner only.
func (ex *Executor) SeeEnds() {
	if contexts {
		goruntime.RaceAcquire(unsafe.Pointer(&ex.race.ended))
	}
}

// raceLeave ends the owner's context: everything that its coroutines did comes
// before what the goroutine does next.
func (ex *Executor) raceLeave() {
	if contexts {
		ex.SeeEnds()
		goruntime.EndRaceContext(ex.race.root)
	}
}

// Call calls a function of the user's on the loop. Coroutines that f starts and
// wakes come after what f did before. Owner only.
func (ex *Executor) Call(f func() bool) bool {
	ex.race.calls = true
	defer func() { ex.race.calls = false }()
	return f()
}

// Own makes the caller's accesses count as the owner's, if a loop drives the
// caller, until it calls the function that Own returns. Nothing in between may
// block, park or be left behind.
//
// It returns a function that is not instrumented, for a defer: the detector
// must not count a call in one context and the return in another.
//
//go:norace
func Own() func() {
	w := found()
	// A rescuer that has claimed the caller will find that it is not blocked.
	// Until then driven returns nil.
	for w != nil && w.awayWord() == claimed {
		runtime.Gosched()
	}
	return driven().enter()
}

// enter is Own on w's goroutine. w may be nil.
//
//go:norace
func (w *worker) enter() func() {
	if !contexts || w == nil || w.ex == nil {
		return stay
	}
	was := goruntime.OwnRaceContext()
	if was == w.ex.race.context {
		return stay
	}
	f := found() // w may be the coroutine's worker, and the caller a fiber
	f.race.user = was
	f.turn(w.ex.race.context)
	return leave
}

// leave undoes enter.
//
//go:norace
func leave() {
	w := found()
	w.turn(w.race.user)
}

// turn gives the caller, which runs on w, the context c: the owner's in place
// of a coroutine's, or the other way round.
//
// With the portable backend a fiber that waits is suspended by iter.Pull in the
// owner's context, and resumed by its coroutine in the coroutine's: so its
// turns order.
//
//go:norace
func (w *worker) turn(c goruntime.RaceContext) (was goruntime.RaceContext) {
	ordered := goruntime.TurnsOrder || w.fiber != nil && !context.Direct()
	at := unsafe.Pointer(&w.ex.race.turns)
	if ordered {
		goruntime.RaceReleaseMerge(at)
	}
	was = goruntime.SwapRaceContext(c)
	if ordered {
		goruntime.RaceAcquire(at)
	}
	return was
}

// stay is leave where enter has changed nothing.
//
//go:norace
func stay() {}

// raceNew makes the detector forget earlier accesses to co's struct, which is
// taken from a pool, or put back.
func (co *Coroutine) raceNew() {
	if contexts {
		goruntime.RaceFresh(unsafe.Pointer(co), unsafe.Sizeof(*co))
	}
}

// raceMade orders everything that the caller did before everything that co
// does. If the caller is a loop, the operation that made the loop start co
// orders it.
func (co *Coroutine) raceMade() {
	if contexts && !ownsRace() {
		goruntime.RaceRelease(co.started())
	}
}

// raceWake orders everything that the caller, which is about to wake co, did
// before the end of co's park. A loop's wakes are ordered elsewhere, or not at
// all: for a time, for an event.
func (co *Coroutine) raceWake() {
	if contexts && !ownsRace() {
		goruntime.RaceReleaseMerge(co.started())
	}
}

// raceWoken is the other half of raceWake, at the end of the park.
func (co *Coroutine) raceWoken() {
	if contexts {
		goruntime.RaceAcquire(co.started())
	}
}

// raceOver orders everything that an ended coroutine did before everything that
// the caller does.
func (co *Coroutine) raceOver() {
	if contexts && !ownsRace() {
		goruntime.RaceAcquire(co.over())
	}
}

// raceEnded is raceOver for all former children in c.
func (c *children) raceEnded() { goruntime.RaceAcquire(unsafe.Pointer(c)) }

// ownsRace reports whether the caller's accesses count as an owner's, and it is
// not in Call.
//
//go:norace
func ownsRace() bool {
	w := found()
	return w != nil && w.ex != nil && !w.ex.race.calls &&
		goruntime.OwnRaceContext() == w.ex.race.context
}

// raceWorker has the context that the runtime gave a worker's goroutine. The
// goroutine uses it only at its beginning and its end.
type raceWorker struct {
	own  goruntime.RaceContext
	user goruntime.RaceContext // of its coroutine, from enter to leave
}

// raceStart is called by a new worker's goroutine, which runs for the owner
// except while it runs a coroutine.
//
//go:norace
func (w *worker) raceStart() {
	if contexts {
		goruntime.RaceRelease(w.addr())
		w.race.own = goruntime.SwapRaceContext(w.ex.race.context)
		goruntime.RaceAcquire(w.addr())
	}
}

// raceRetire is called by a worker's goroutine that is about to end.
//
//go:norace
func (w *worker) raceRetire() {
	if contexts {
		goruntime.RaceRelease(w.addr())
		goruntime.SwapRaceContext(w.race.own)
		goruntime.RaceAcquire(w.addr())
	}
}

// raceGone ends the context of w's goroutine, which has ended in a coro: the
// runtime does not. On the loop.
func (w *worker) raceGone() {
	if contexts && w.gone {
		goruntime.EndRaceContext(w.race.own)
	}
}

// raceBegin gives the goroutine a context for co, which begins.
//
//go:norace
func (w *worker) raceBegin(co *Coroutine) {
	if !contexts {
		return
	}
	w.turn(goruntime.NewRaceContext(w.ex.race.root, uintptr(co.site.Own())))
	goruntime.RaceAcquire(co.started())
}

// raceEnd ends the context of w's coroutine, co. Owner only.
//
//go:norace
func (w *worker) raceEnd(co *Coroutine) {
	if !contexts {
		return
	}
	goruntime.RaceReleaseMerge(co.over())
	goruntime.RaceReleaseMerge(unsafe.Pointer(&w.ex.race.ended))
	c := co.children
	if c != nil {
		goruntime.RaceReleaseMerge(unsafe.Pointer(c))
		if c.parent != nil {
			goruntime.RaceReleaseMerge(unsafe.Pointer(c.parent))
		}
	}
	goruntime.EndRaceContext(w.turn(w.ex.race.context))
	if c != nil {
		goruntime.RaceAcquire(unsafe.Pointer(c)) // for leave
	}
	co.raceNew()
	goruntime.RaceFresh(w.addr(), unsafe.Sizeof(*w))
}

// raceMoved gives co's goroutine, which is parked at a switch, the new owner's
// context.
func (w *worker) raceMoved(ex *Executor) {
	if contexts {
		goruntime.SetRaceContext(w.ctx.G(), ex.race.context)
	}
}

// raceAcquire and raceRelease order one Resume after the other.
func (f *fiber) raceAcquire() { goruntime.RaceAcquire(f.w.addr()) }
func (f *fiber) raceRelease() { goruntime.RaceReleaseMerge(f.w.addr()) }

// setLeftBehind is for the rescuer: the loop is parked, and reads leftBehind
// after its switch.
//
//go:norace
func (ex *Executor) setLeftBehind(w *worker) { ex.leftBehind = w }

// setExecutor sets a worker's executor, which the goroutine also reads in its
// coroutine's context.
//
//go:norace
func (w *worker) setExecutor(ex *Executor) { w.ex = ex }

// load returns the word without synchronisation: it is read all the time, and
// written at a handoff.
//
//go:norace
func (a *away) load() uint32 { return *(*uint32)(unsafe.Pointer(&a.Uint32)) }

// slot returns the content of a slot of the table, likewise.
//
//go:norace
func (t *gTable) slot(i uint64) *worker { return *(**worker)(unsafe.Pointer(&t.slots[i])) }

// currentTable returns the table, likewise.
//
//go:norace
func currentTable() *gTable { return *(**gTable)(unsafe.Pointer(&table)) }
