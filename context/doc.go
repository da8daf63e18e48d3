// Package context is one execution context, a stack with its registers, and the
// switch between it and the code that runs it. Package coroutine builds
// coroutines on it.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. It shows how to switch between goroutines without
// the Go scheduler, by the runtime's own coroutine transfer.
//
// # Model
//
// A [Context] is a goroutine that runs only while it is resumed. It has one
// coro, the runtime's own kind: a place that holds one parked goroutine. A
// goroutine that switches through the coro is parked in it, and the goroutine
// that was parked there continues, on the same thread. So of a context's two
// sides, itself and its resumer, one is parked in the coro, and the other runs
// or waits elsewhere.
//
//	c.Init(entry)   makes c, with a new goroutine for entry parked in its coro
//	c.Resume(next)  runs c, and returns when c suspends or ends
//	c.Suspend()     returns control to the resumer; returns when c is resumed
//
// Switching is asymmetric, as in iter.Pull: it goes down into a context and
// back up to its resumer, and contexts that resume others nest. A context ends
// when its entry function returns or calls runtime.Goexit; its resumer then
// continues. A panic must not leave the entry function.
//
// # Which goroutine is parked
//
// With the assembly backend, for which [Direct] is true, any goroutine can
// switch through a coro. The engine relies on two consequences:
//
//   - A context can be suspended by a goroutine that its own has called into,
//     by resuming an inner context, through any number of levels. All of them
//     stop; resuming the outer context continues the innermost.
//   - A resumer can be replaced while the context's goroutine is blocked, in a
//     Go channel for instance. A rescuer calls Switch: it is parked in the coro
//     in the resumer's place, and the resumer continues, on the rescuer's
//     thread, as if the context had suspended. The blocked goroutine wakes
//     later and runs in parallel. When it suspends itself, or ends, the rescuer
//     continues; the context is then parked and any goroutine can resume it.
//
// # Backends
//
// Both hand the thread from one goroutine to the next by the runtime's own
// coroutine transfer, so the garbage collector, stack growth, panics, profiles,
// traces and the race detector see ordinary goroutines.
//
//   - "asm" (verified Go releases): jumps from assembly into that transfer. It
//     is Direct.
//   - "portable": iter.Pull, public API, with any Go release. Only a context's
//     own goroutine can suspend it, and its resumer cannot be replaced.
//
// The choice is made at init: by Go release, and by a self-test. The
// environment variable NETCO_CONTEXT=asm or portable overrides the release
// fence, not the self-test. [Backend] and [BackendReason] return the outcome.
// If "portable" is selected although NETCO_CONTEXT did not request it, one line
// on stderr says so and why.
//
// # Contract
//
// Thread locks: at each switch through a coro, and at its context's end, the
// goroutine that switches must be locked to its thread exactly as the goroutine
// that called Init was then: on the same thread, as often, in as many callbacks
// from C. Otherwise the runtime ends the process. Contexts made without locks
// are resumed without locks, by any goroutine on any thread: they can migrate.
//
// Order: at any time at most one goroutine switches through a coro, and the
// goroutine that runs next sees everything that the goroutine before it did.
// Where two sides run at once, as during a replacement, the caller ensures that
// the rescuer is parked before the blocked goroutine suspends; the coro itself
// orders the rest.
//
// For the race detector, everything that one side of a coro did happens before
// everything that the other side does next; coros are not ordered. Package
// coroutine makes both sides one goroutine to it, see coroutine/race_race.go.
//
// # Why it is sound
//
// Nothing here switches stacks. The assembly backend calls the two functions on
// which iter.Pull is built, newcoro and coroswitch, with arguments that they
// take. The runtime exchanges the goroutine in the coro by compare-and-swap and
// does not record which goroutine was there before, so any running goroutine
// may come next, and each goroutine is at any time in one place: it runs, or
// waits in one coro, or elsewhere in the runtime. A coro's own goroutine, which
// alone ends it, then hands the thread to the goroutine parked there, exactly
// as when it suspends. docs/RATIONALE.md, "The context switch", has the rest.
package context
