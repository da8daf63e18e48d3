package scheduler

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
)

func init() {
	engine.Register(func(s any) engine.Scheduler { return (*opened)(s.(*Scheduler)) })
}

// opened is a Scheduler with methods for netco's own packages.
type opened Scheduler

func (o *opened) Group() *processor.Group { return o.group.Load() }

func (o *opened) Processors() []*processor.Processor { return (*Scheduler)(o).members() }

func (o *opened) Circles() []diagnose.Circle {
	if (*Scheduler)(o).Ended() {
		return nil
	}
	return o.observer.Circles()
}

func (o *opened) Go(sp processor.Spawn) (coroutine.Handle, error) {
	return (*Scheduler)(o).start(sp)
}
