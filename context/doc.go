// Package context is one execution context, a stack with its registers, and the switch between two of them.
//
// # Model
//
// A [Context] is a goroutine's stack that runs only when it is switched to. The goroutine that drives a set of
// contexts is the loop; it has a Context of its own (the zero value, which needs no Init). On one thread, one of the
// loop and its contexts runs at any time.
//
//	loop.Resume(c)    the loop runs c, and continues when control comes back to it
//	c.Suspend(loop)   c gives control back to the loop
//	c.Transfer(d)     c gives control to d directly, without passing the loop (Symmetric backend only)
//	c.Exit(loop)      the last thing c's entry function does before it returns
//
// # Backends
//
// Both hand the thread from one goroutine to the next through the runtime's own coroutine transfer, so the garbage
// collector, stack growth, panics, profiles, traces and the race detector see ordinary goroutines.
//
//   - "asm" (amd64, arm64; verified Go releases): jumps from assembly into that transfer. It is symmetric.
//   - "portable": iter.Pull, public API, on every platform. Every switch passes the loop.
//
// The choice is made at init: by architecture, by Go release, and by a
// self-test. The environment variable NETCO_CONTEXT=asm or portable overrides
// the release fence, not the self-test. [Backend] and [BackendReason] tell the
// outcome. Where "portable" is taken without having been asked for, one line on
// stderr says so and why.
//
// # Contract
//
// A context belongs to the thread (under runtime.LockOSThread) or goroutine set on which Init was called: the runtime
// compares the thread and its lock counts at each switch with those at Init and throws on a difference.
// An entry function must not panic out; it may end by runtime.Goexit if a deferred call in it calls Exit.
//
// # Slots
//
// The runtime's coro is a slot that holds exactly one parked goroutine; switching through a slot runs the one in it and
// parks the caller there. With N contexts and a loop there are N slots, made one with each context, and the running one
// is in none. Which context sits in which slot is this package's to know:
//
//	Frame.Slot     where it is parked; meaningless while it runs
//	Slot.Holder    who is parked there
//	Frame.Home     the slot made with it, from which the runtime resumes the holder at its end
//
// A context may end only while the loop sits in its home slot. Exit sees to that: it asks the loop, the loop switches
// to the holder of that slot, which relays to the ending one. docs/RATIONALE.md, "Symmetric transfer".
package context
