// Package context is one execution context, a stack with its registers, and the
// switch between it and the code that runs it. It is for the engine: package
// coroutine builds coroutines of it.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. A curious reader learns here how a switch between
// goroutines that the Go scheduler does not see is made of the runtime's own
// coroutine transfer.
//
// # Model
//
// A [Context] is a goroutine that runs only while it is resumed. It has one
// coro, the runtime's own kind: a place that holds one parked goroutine.
// Whoever switches through the coro is parked in it, and what was parked there
// runs on, on the same thread. So of a context's two sides, itself and its
// resumer, one runs or is somewhere else, and the other is parked in the coro.
//
//	c.Init(entry)   makes c, with a new goroutine for entry parked in its coro
//	c.Resume(warm)  runs c, and returns when c suspends or ends
//	c.Suspend()     gives control back to the resumer; returns when c is resumed
//
// Switching is asymmetric, as in iter.Pull: it goes down into a context and
// back up to its resumer, and contexts that resume others nest. A context ends
// when its entry function returns or calls runtime.Goexit; its resumer then
// runs on. A panic must not leave the entry function.
//
// # Which goroutine is parked
//
// With the assembly backend a coro does not ask which goroutine switches
// through it. If [Direct] reports so, two things follow on which the engine
// relies:
//
//   - A context can be suspended by a goroutine that its own has called into,
//     by resuming an inner context, through any number of levels. The whole
//     nest stands still; resuming the outer context runs the innermost on.
//   - A resumer can be replaced while the context's goroutine is blocked, in a
//     Go channel for instance, for which the resumer would have to wait. A
//     rescuer calls Switch: it is parked in the coro in the resumer's place,
//     and the resumer runs on, on the rescuer's thread, as if the context had
//     suspended. The blocked goroutine wakes and runs beside them, outside.
//     When it suspends itself, or ends, it is the rescuer that runs on; and now
//     the context is parked and can be resumed by anything.
//
// # Visits
//
// [Context.Visit] runs a function on the goroutine that is parked in c, below
// the function in which it parked, and leaves it parked: to take its stack
// trace, for instance. Suspend serves visits before it returns. Code that parks
// by Switch asks Visited afterwards and calls ServeVisit.
//
// # Backends
//
// Both hand the thread from one goroutine to the next by the runtime's own
// coroutine transfer, so the garbage collector, stack growth, panics, profiles,
// traces and the race detector see ordinary goroutines.
//
//   - "asm" (amd64, arm64; verified Go releases): jumps from assembly into that
//     transfer. It is Direct.
//   - "portable": iter.Pull, public API, on every platform. Only a context's
//     own goroutine can suspend it, and its resumer cannot be replaced.
//
// The choice is made at init: by architecture, by Go release, and by a
// self-test. The environment variable NETCO_CONTEXT=asm or portable overrides
// the release fence, not the self-test. [Backend] and [BackendReason] tell the
// outcome. Where "portable" is taken without having been asked for, one line on
// stderr says so and why.
//
// # Contract
//
// Thread locks: at each switch through a coro, and at its context's end, the
// goroutine that switches must be locked to its thread exactly as the one that
// called Init was then: on the same thread, as often, in as many callbacks from
// C. Else the runtime ends the process. Contexts made without locks are resumed
// without locks, by any goroutine on any thread: they can migrate.
//
// Order: at any time at most one goroutine switches through a coro, and what
// runs next may rely on what the one before did. Where two sides run at once,
// as during a replacement, their owner sees to it that the rescuer is parked
// before the blocked goroutine suspends; the coro itself orders the rest.
//
// The race detector is told that what one side of a coro did happens before
// what the other does next, and nothing of other coros. A rescuer has to speak
// for the blocked goroutine, see goruntime.RaceReleaseOf.
//
// # Why it is sound
//
// Nothing here switches stacks. The assembly backend calls the two functions
// that iter.Pull is made of, newcoro and coroswitch, with arguments that they
// take. The runtime exchanges the goroutine in the coro by compare-and-swap and
// does not record which one was there before, so any running goroutine may come
// next, and each goroutine is at any time in one place: it runs, or waits in
// one coro, or elsewhere in the runtime. A coro's own goroutine, which alone
// ends it, gives way to what is parked there at that time: hence it ends like
// it suspends. docs/RATIONALE.md, "The context switch", has the rest.
package context
