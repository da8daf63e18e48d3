// Package profile makes Go's own profiler and tracer distinguish coroutines.
//
// Both know goroutines; a coroutine runs on a goroutine of a pool, on which
// other coroutines ran before. With [Labels] each named coroutine's samples of
// a CPU profile carry the label "coroutine", with [Regions] each of its runs is
// a region of an execution trace; both can be switched on and off while the
// process runs:
//
//	defer profile.Labels()()
//	pprof.StartCPUProfile(w)
//	...
//
//	go tool pprof -tags cpu.out                       # how much per name
//	go tool pprof -tagfocus coroutine=checkout cpu.out # one name
//	go tool trace trace.out                           # "User-defined regions"
//
// Names are given by netco.Spawn and Handle.SetName. Many coroutines may and
// should share a name: a name is a kind of work, not a connection.
//
// # Threads
//
// All functions may be called from any thread, also several times: only the
// stop function of a call ends what the call began.
package profile
