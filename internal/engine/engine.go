// Package engine gives netco's own packages what a Scheduler is made of: its
// Processors and their group, which its users do not see.
//
// Package scheduler registers itself here when it is initialised. A Scheduler
// goes by any, because this package stands below the one that declares it.
package engine

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/processor"
)

// Scheduler is a Scheduler as netco's own packages see it. Its methods do not
// park, and may be called from any thread.
type Scheduler interface {
	// Group returns what its Processors have in common; nil before its start.
	Group() *processor.Group

	// Processors returns the Processors, in the order of their numbers; nil
	// before its start. Not to be changed.
	Processors() []*processor.Processor

	// Circles returns the deadlocks of some of its coroutines that the watchdog
	// has found last.
	Circles() []diagnose.Circle

	// Go starts a coroutine, also one of the library's own, which
	// Options.MaxCoroutines does not keep from starting (Unlimited).
	Go(sp processor.Spawn) (coroutine.Handle, error)
}

// open is constant once package scheduler is initialised.
var open func(scheduler any) Scheduler

// Register sets what Of does. For the init of package scheduler.
func Register(f func(scheduler any) Scheduler) { open = f }

// Of returns the engine of s, which is a *scheduler.Scheduler.
func Of(s any) Scheduler { return open(s) }
