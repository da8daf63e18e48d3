// Package scheduler is the set of Processors: it validates their options,
// starts them, places coroutines on them, and ends them in order. It is an
// instance; the root package keeps one by default.
//
// # Life
//
//	new, Start: running, Shutdown: draining, ctx over: stopping, then stopped
//
//	draining   listeners return ErrShutdown, Go on a goroutine returns it too,
//	           and so do reads of handlers of netco.Serve that wait for a
//	           request; coroutines end by themselves and may start others
//	stopping   every wait returns ErrShutdown; a wait that cannot return an
//	           error unwinds its coroutine (runtime.Goexit)
//	stopped    Processors, epoll, timer and event fds are gone
//
// A Scheduler is started once. After Shutdown it stays stopped; make another
// one. The errors named here are package netco's.
package scheduler
