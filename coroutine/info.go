package coroutine

import (
	"runtime"
	"strings"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
)

// Info is what one coroutine was doing when Range or Find read it.
type Info struct {
	Coroutine *Coroutine
	ID        uint64
	Name      string
	Site      uintptr // the return address where it was started; 0 if unknown
	// File, Line and Func are Site as source code. Resolve fills them in. File
	// is "" if the place is not known.
	File   string
	Line   int
	Func   string
	State  State
	Reason Reason
	// Since is when it began to wait; for one that is ready or runs, when it
	// was last made ready, not counting Yield. It is CLOCK_MONOTONIC in
	// nanoseconds, as of the beginning of that turn of its thread, and 0 if its
	// host does not call SetClock.
	Since int64
	Host  Host
	// WaitsFor says in words what Reason does; "" unless it waits.
	WaitsFor string
	// OrContext says that the end of a context ends the wait as well.
	OrContext bool

	blockedBy *Holder // of the lock that it waits for, see Held; may be nil
}

// Range calls f for every coroutine of the process that has started and not
// ended, of all schedulers and threads, until f returns false. Fibers are not
// among them.
//
// Any thread, coroutines too. It takes no lock, holds nothing up and does not
// allocate; a million take about 0.3 s of the calling thread. A coroutine that
// starts or ends meanwhile may be left out; all others are given to f once.
// Each field of an Info was true of that coroutine, though not all at one
// instant.
func Range(f func(Info) bool) {
	t := table.Load() // one that grows or shrinks meanwhile does so by another table
	for i := range t.slots {
		t.prefetch(i)
		var info Info
		if w := t.slots[i].Load(); w.fiber == nil && info.of(w) && !f(info) {
			return
		}
	}
}

// Find returns the Info of the coroutine with that id; false if it has not
// started, or has ended. It takes as long as a Range.
func Find(id uint64) (found Info, ok bool) {
	Range(func(info Info) bool {
		if ok = id != 0 && info.ID == id; ok {
			found = info
		}
		return !ok
	})
	return found, ok
}

// of fills in what w's coroutine is doing, and reports whether w has one.
//
// The worker of a fiber that a coroutine has resumed refers to that coroutine,
// too; its own refers to it from its start to its end. So each is found once,
// by its own.
//
// The coroutine may end and its struct be reused at any moment. Make sets the
// id last and end clears it first, in that order for all threads; so what was
// read between two reads of the same id belongs to that incarnation.
func (i *Info) of(w *worker) bool {
	co := w.co.Load()
	if co == nil {
		return false
	}
	i.ID = co.id.Load()
	if i.ID == 0 {
		return false
	}
	status := co.status.Load()
	i.State = co.stateOf(status)
	if i.State == Waiting {
		reason := Reason(status >> 8)
		i.Reason, i.OrContext = reason&^orContext, reason&orContext != 0
		i.WaitsFor = i.Reason.waitsFor()
		i.blockedBy = w.blockedBy.Load()
	}
	i.Since = since(status)
	i.Name = co.Name()
	i.Site = uintptr(co.site.Load())
	ex := co.ex.Load()
	if ex == nil {
		return false // it has ended, and its next incarnation is not adopted yet
	}
	i.Coroutine, i.Host = co, ex.host
	return co.id.Load() == i.ID
}

// Info returns what the coroutine is doing; false if it has not started, or has
// ended. Any thread.
func (h Handle) Info() (info Info, ok bool) {
	if h.co == nil {
		return Info{}, false
	}
	w := h.co.w.Load()
	if w == nil || !info.of(w) || info.ID != h.id {
		return Info{}, false
	}
	return info, true
}

// For returns for how long the coroutine had been in its state at the beginning
// of that turn of its thread; 0 if that is not known.
func (i Info) For() time.Duration {
	if i.Since == 0 {
		return 0
	}
	return max(time.Duration(clock.Now()-i.Since), 0)
}

// Place returns the file and line that started the coroutine; "" and 0 if they
// are not known. It costs about a microsecond.
func (i Info) Place() (file string, line int) {
	i.Resolve()
	return i.File, i.Line
}

// Resolve fills in where the coroutine was made. It costs about a microsecond.
func (i *Info) Resolve() {
	frame := frameOf(uint64(i.Site))
	i.File, i.Line, i.Func = frame.File, frame.Line, frame.Function
}

// AwaitsSignal reports whether the coroutine may receive from a Go channel of
// signals: unless its goroutine is seen to be blocked in something else. For
// one that is Running or Outside. Any thread.
func (i *Info) AwaitsSignal() bool {
	w := i.Coroutine.w.Load()
	return w == nil || goruntime.FindStandings() != nil ||
		goruntime.AwaitsSignal(w.innermost().ctx.G())
}

// frameOf returns what is known of a site; nothing if that is 0. Code that the
// compiler has made, as it does for a method value, has no place: then File is
// "", and Function is the method.
func frameOf(site uint64) (frame runtime.Frame) {
	if site != 0 {
		frame, _ = runtime.CallersFrames([]uintptr{uintptr(site)}).Next()
	}
	if frame.File == "<autogenerated>" {
		frame.File, frame.Line = "", 0
		frame.Function = strings.TrimSuffix(frame.Function, "-fm")
	}
	return frame
}

// waitsFor is Info.WaitsFor.
func (r Reason) waitsFor() string {
	return [Reasons]string{
		"", "a time", "data to read", "room to write", "a connection to accept",
		"a connection to be made", "a lock", "the end of a coroutine", "something outside netco",
		"a blocking call", "a channel", "a condition", "a semaphore", "the others of its group",
		"a future", "the end of a context", "memory for a buffer",
	}[r]
}

// Goroutines returns the goroutines, as asm.Getg returns them, of which one has
// the executor's thread: those that co runs on, or the loop's if co is nil.
// There is more than one if co has resumed Fibers; all but one then wait in the
// switch. Any thread; by then they may belong to other coroutines. It reads the
// whole table of goroutines: some milliseconds for a million.
func (ex *Executor) Goroutines(co *Coroutine) []uintptr {
	if co == nil {
		return []uintptr{ex.loopIs.ctx.G()}
	}
	var found []uintptr
	t := table.Load()
	for i := range t.slots {
		if w := t.slots[i].Load(); w.co.Load() == co {
			found = append(found, w.ctx.G())
		}
	}
	return found
}
