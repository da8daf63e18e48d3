// Package blocking runs calls that block (files, cgo, database drivers,
// resolvers, code that locks its thread) on ordinary goroutines, while the
// coroutine that needs the result is parked.
//
// # Model
//
// A coroutine that blocks delays everything else on its Processor, for some
// milliseconds, or as long as it blocks where Processors are not handed on
// (README.md, "What blocks a Processor"); and nothing bounds how many block at
// a time. [Do] runs the function on a goroutine of its own, and parks until it
// has ended. A [Pool] runs at most as many functions at once as its limit says;
// further calls wait in a queue, first come, first served.
//
//	rows, err := blocking.Call(ctx, func() (*sql.Rows, error) {
//		return db.Query(q)
//	})
//
// An ordinary goroutine may block, so there every function of this package runs
// its argument in place, as a plain call, and no limit holds. So a running
// function may itself use this package, at any depth, even when the pool is at
// its limit.
//
// # Results
//
// A call behaves as if the function had been called in place: a panic in it
// continues in the coroutine, as a *netco.PanicError with the value and the
// stack of the panic; a runtime.Goexit in it ends the coroutine, deferred calls
// and all.
//
// # Abandoned calls
//
// A function that runs cannot be stopped. [Do] and [Call] return when their
// context is done, and with netco.ErrShutdown when the scheduler ends by
// force; if the function was still in the queue it is never started, otherwise
// it runs on, abandoned, and should end by itself when the context is done.
// Then
//   - its variables belong to it until it ends: do not touch them after such an
//     error. The result of [Call] is zero then, and safe to use.
//   - it still counts against the limit.
//   - a panic in it has no caller to continue in, and ends the program, as in
//     any goroutine.
//
// The error does not say whether the function was started; where that matters,
// let the function record it in an atomic.
//
// # Contract
//
// All functions and methods may be called from any thread, by coroutines and
// goroutines. A call costs a wake of another thread each way, tens of
// microseconds where nothing else is going on, so a function that is certainly
// shorter is better called in place.
//
// A function that changes its thread locks it first, by runtime.LockOSThread;
// if it leaves it locked, the thread ends with its goroutine. A function that
// waits for a coroutine which itself waits for the same pool may wait for ever
// when the pool is at its limit.
package blocking
