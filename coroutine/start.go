package coroutine

import "errors"

// ErrNoScheduler is returned by Start where nothing can run a coroutine.
var ErrNoScheduler = errors.New(
	"netco: no scheduler: import package netco, or call this from a coroutine")

// starter is what package netco starts coroutines with; nil where that is not
// part of the program.
var starter func(Spec) (Handle, error)

// SetStarter sets what Start does. For package netco's init.
func SetStarter(start func(Spec) (Handle, error)) { starter = start }

// Starter is a Host that may refuse what is started on its thread.
type Starter interface {
	// StartHere is Executor.Spawn, or returns why not. Owner only.
	StartHere(Spec) (Handle, error)
}

// Start starts a coroutine where netco.Go would: on the least loaded Processor
// of the caller's scheduler, or of the default one. It is for packages that
// netco itself imports. Without package netco it starts one on the caller's own
// thread, and returns ErrNoScheduler on an ordinary goroutine.
func Start(s Spec) (Handle, error) {
	if starter != nil {
		return starter(s)
	}
	if w := CurrentWorker(); w != nil && w.ex != nil {
		if host, ok := w.ex.host.(Starter); ok {
			return host.StartHere(s)
		}
		return w.ex.Spawn(s).Handle(), nil
	}
	return Handle{}, ErrNoScheduler
}
