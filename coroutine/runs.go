package coroutine

import (
	"context"
	"runtime/trace"
	"sync"
	"sync/atomic"
)

// Runs of coroutines as regions of an execution trace.
//
// A region belongs to the goroutine that begins it, and must end there before
// any region that was begun earlier: go tool trace cannot read other traces at
// all. A coroutine's own goroutine will not do: the user may begin a region
// there, and end it after the next park. So the loop begins and ends these
// regions on its own goroutine, which waits meanwhile.

// tracing is how many calls of TraceRuns are in force.
var tracing atomic.Int32

// TraceRuns makes each run of a coroutine, from its getting the thread to its
// giving it up, a region of the execution trace, with the coroutine's name or
// "coroutine", whenever runtime/trace is on. It takes effect on every thread
// with the next turn, and ends with stop. Package profile explains the rest.
func TraceRuns() (stop func()) {
	tracing.Add(1)
	return sync.OnceFunc(func() { tracing.Add(-1) })
}

// region begins a region for the coroutine that is about to run.
func (ex *Executor) region() *trace.Region {
	name := ex.current.Own().Name()
	if name == "" {
		name = "coroutine"
	}
	return trace.StartRegion(context.Background(), name)
}
