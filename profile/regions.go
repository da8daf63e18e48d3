package profile

import "github.com/netco-go/netco/coroutine"

// Regions makes each run of a coroutine, from its resume to its next wait or
// Yield, a region of the execution trace that has the coroutine's name for its
// type, or "coroutine" if it has none, until stop is called. The region of one
// that blocks outside netco ends where its Processor goes on without it. It
// does so only while runtime/trace is on, and each Processor from its next turn
// on, so that it may be called at any time before trace.Start or after it.
//
// The regions are on the goroutine of the Processor's loop, which waits
// meanwhile: there they nest with nothing that a coroutine begins itself. So
// their number and length are what to look at; what the coroutine did in one is
// on its own goroutine at the same time.
//
// It costs nothing while there is no trace. With one, each run writes
// two events.
func Regions() (stop func()) { return coroutine.TraceRuns() }
