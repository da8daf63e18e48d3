package coroutine

import "runtime"

// Info is what one coroutine was doing when somebody looked.
type Info struct {
	Coroutine *Coroutine
	ID        uint64
	Name      string
	Site      uintptr // the return address where it was made; 0 if unknown
	// File, Line and Func are Site in words. Resolve fills them in.
	File   string
	Line   int
	Func   string
	State  State
	Reason Reason
	// Since is when it began to wait; for one that is ready or runs, when it was last made ready, since a Yield leaves no mark. It is
	// CLOCK_MONOTONIC in nanoseconds, as of the beginning of that turn of its thread, and 0 if its host does not tell the time.
	Since int64
	Host  Host
	// WaitsFor says in words what Reason does; "" unless it waits.
	WaitsFor string
}

// Look calls f for every coroutine of the process that has started and not ended, of all schedulers and threads, until f returns
// false. Coroutines that have not started, and those driven by hand, are not among them.
//
// It may be called on any thread, by coroutines too. It takes no lock, holds nobody up and does not allocate; a million take about 0.3 s
// of the calling thread. Who starts or ends meanwhile may be seen or not; all others are seen, and nobody is seen twice. What an Info says
// was all true of that coroutine, though not at the same instant.
func Look(f func(Info) bool) {
	t := table.Load() // one that grows or shrinks meanwhile does so by another table
	for i := range t.slots {
		t.prefetch(i)
		var info Info
		if w := t.slots[i].Load(); w.fiber == nil && info.of(w) && !f(info) {
			return
		}
	}
}

// LookUp returns the Info of the coroutine with that id; false if it has not started, or has ended. It takes as long as a Look.
func LookUp(id uint64) (found Info, ok bool) {
	Look(func(info Info) bool {
		if ok = id != 0 && info.ID == id; ok {
			found = info
		}
		return !ok
	})
	return found, ok
}

// of fills in what w's coroutine is doing, and reports whether w has one.
//
// A coroutine that runs a fiber is with that fiber's worker, too, but with its own from its start to its end: so each is found once, there.
//
// Its struct may end and be used again at any moment. born sets the id last and end clears it first, in that order for all threads; so
// what was read between two readings of the same id belongs to that life.
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
		i.Reason = Reason(status >> 8)
		i.WaitsFor = i.Reason.waitsFor()
	}
	i.Since = since(status)
	i.Name = co.Name()
	i.Site = uintptr(co.site.Load())
	i.Coroutine, i.Host = co, w.ex.host
	return co.id.Load() == i.ID
}

// Resolve fills in where the coroutine was made. It costs about a microsecond.
func (i *Info) Resolve() {
	frame := frameOf(uint64(i.Site))
	i.File, i.Line, i.Func = frame.File, frame.Line, frame.Function
}

// frameOf returns what is known of a site; nothing if that is 0.
func frameOf(site uint64) (frame runtime.Frame) {
	if site != 0 {
		frame, _ = runtime.CallersFrames([]uintptr{uintptr(site)}).Next()
	}
	return frame
}

// waitsFor is Info.WaitsFor.
func (r Reason) waitsFor() string {
	return [Reasons]string{"", "a time", "data to read", "room to write", "a connection to accept", "a connection to be made", "a lock",
		"the end of a coroutine", "something outside netco", "a blocking call", "a channel", "a condition", "a semaphore",
		"the others of its group", "a future", "the end of a context", "memory for a buffer"}[r]
}
