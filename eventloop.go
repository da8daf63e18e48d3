package netco

import (
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// EventLoop starts the default Scheduler with one Processor that runs on the
// calling goroutine, and returns when it has ended: by Shutdown, or because
// turn, which the loop calls in every turn, has returned false. See
// [scheduler.Scheduler.EventLoop]; [scheduler.Scheduler.Wake] makes a sleeping
// loop take a turn. Blocks.
func EventLoop(o Options, turn func() bool) error {
	if def.s.Load() != nil {
		return ErrStarted
	}
	s, err := scheduler.New(o)
	if err != nil {
		return err
	}
	taken := false // another Scheduler has become the default one meanwhile
	first := true
	err = s.EventLoop(func() bool {
		if first {
			first = false
			def.mu.Lock() // a Start may be under way
			if taken = def.s.Load() != nil; !taken {
				processor.SetDefaultGroup(engine.Of(s).Group())
				def.s.Store(s)
			}
			engine.DefaultOver = engine.DefaultOver && taken
			def.mu.Unlock()
		}
		return !taken && (turn == nil || turn())
	})
	defaultEnded(s)
	if err == nil && taken {
		return ErrStarted
	}
	return err
}
