// Package profile makes Go's own profiler and tracer distinguish coroutines.
//
// Both know goroutines, and a coroutine runs on one out of a pool, on which
// others have run before it. With [Labels] each named coroutine's samples of a
// CPU profile carry the label "coroutine", with [Regions] each of its runs is a
// region of an execution trace; both for as long as one wants, in a process
// that goes on:
//
//	defer profile.Labels()()
//	pprof.StartCPUProfile(w)
//	...
//
//	go tool pprof -tags cpu.out                       # how much per name
//	go tool pprof -tagfocus coroutine=checkout cpu.out # one name
//	go tool trace trace.out                           # "User-defined regions"
//
// Names are given by netco.Spawn and Handle.SetName. Many coroutines may share
// one, and should: a name is a kind of work, not a connection.
//
// # Threads
//
// All functions may be called from any thread, also several times: what one
// call has begun only its own stop ends.
package profile
