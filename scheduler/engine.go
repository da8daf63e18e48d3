package scheduler

import (
	"github.com/netco-go/netco/coroutine"
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

func (o *opened) Circles() []engine.Circle {
	if d := o.dog.Load(); d != nil && !(*Scheduler)(o).Ended() {
		if all := d.circles.Load(); all != nil {
			return *all
		}
	}
	return nil
}

func (o *opened) Go(sp processor.Spawn) (coroutine.Handle, error) {
	return (*Scheduler)(o).start(sp)
}
