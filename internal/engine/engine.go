// Package engine gives netco's own packages the parts of a Scheduler, which its
// users do not see.
package engine

import (
	"runtime/debug"
	"strings"
	"time"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/processor"
)

// DefaultOver says that the default Scheduler has ended, and that only Start or
// Run starts another. Package netco has its lock; tests reset it.
var DefaultOver bool

// UnwindGrace is how long coroutines get to end after a Shutdown ended their
// waits by force. A loaded machine may need seconds, and giving up on a
// coroutine that is about to end would report an error that does not exist.
var UnwindGrace = 5 * time.Second // tests shorten it

// Engine has the parts of a Scheduler: the result of its method of that name.
type Engine struct {
	group    *processor.Group
	observer *diagnose.Observer
}

// New returns the Engine of a Scheduler; group is nil before its start.
func New(group *processor.Group, observer *diagnose.Observer) Engine {
	return Engine{group, observer}
}

// Of returns the Engine of a Scheduler.
func Of(s interface{ Engine() Engine }) Engine { return s.Engine() }

// Group returns the group of the Processors; nil before the start.
func (e Engine) Group() *processor.Group { return e.group }

// Processors returns the Processors, in the order of their numbers; nil before
// the start. Not to be changed.
func (e Engine) Processors() []*processor.Processor {
	if e.group == nil {
		return nil
	}
	return e.group.Members()
}

// Circles returns the deadlocks of some of the Scheduler's coroutines that the
// watchdog found last; none after the end.
func (e Engine) Circles() []diagnose.Circle { return e.observer.Circles() }

// Versions returns the program's path and version, and netco's version in it,
// "(devel)" in its own tree; "" is unknown.
func Versions() (program, netco string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/netco-go/netco" {
			netco = m.Version
		}
	}
	return strings.TrimSpace(info.Main.Path + " " + info.Main.Version), netco
}
