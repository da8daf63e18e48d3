package profile

import "github.com/netco-go/netco/coroutine"

// Regions makes each run of a coroutine, from its resume to its next wait or
// Yield, a region of the execution trace that has the coroutine's name for its
// type, or "coroutine" if it has none, until stop is called. The region of a
// coroutine that blocks outside netco ends where its Processor goes on without
// it. Regions are written only while runtime/trace is on, by each Processor
// from its next turn on, so Regions may be called before or after trace.Start.
//
// The regions are on the goroutine of the Processor's loop, which waits
// meanwhile: there they do not nest with regions of the coroutine. Look at
// their number and length; the coroutine's own goroutine shows what it did
// during a region.
//
// Regions costs nothing while there is no trace. During a trace, each run
// writes two events.
func Regions() (stop func()) { return coroutine.TraceRuns() }
