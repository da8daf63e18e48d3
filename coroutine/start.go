package coroutine

import "errors"

// ErrNoScheduler is returned by Start where nothing can run a coroutine.
var ErrNoScheduler = errors.New(
	"netco: no scheduler: import package netco, or call this from a coroutine")

// starter is the facade's Go; nil where package netco is not part of the
// program.
var starter func(fn func(), name string, site uintptr) (Handle, error)

// SetStarter sets what Start does. For package netco's init.
func SetStarter(start func(fn func(), name string, site uintptr) (Handle, error)) { starter = start }

// Starter is a Host that has a say in what is started on its thread.
type Starter interface {
	// StartHere is Executor.Spawn, or returns why not. Owner only.
	StartHere(fn func(), name string, site uintptr) (Handle, error)
}

// Start starts fn as a coroutine where netco.Go would: on the least loaded
// Processor of the caller's scheduler, or of the default one. It is for
// packages that netco itself imports. Without package netco it starts fn on the
// caller's own thread, and returns ErrNoScheduler on an ordinary goroutine.
func Start(fn func(), name string, site uintptr) (Handle, error) {
	if starter != nil {
		return starter(fn, name, site)
	}
	if w := CurrentWorker(); w != nil && w.ex != nil {
		if s, ok := w.ex.host.(Starter); ok {
			return s.StartHere(fn, name, site)
		}
		return w.ex.Spawn(fn, name, site).Handle(), nil
	}
	return Handle{}, ErrNoScheduler
}
