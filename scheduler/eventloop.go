package scheduler

import (
	"context"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
)

// EventLoop is Start with one Processor, whatever Options.Processors says, that
// runs on the calling goroutine; it returns when the Scheduler has ended.
//
// turn, if it is not nil, is called at the beginning of every turn of the loop,
// first of all before any coroutine runs. It may start coroutines and must
// neither wait nor panic. When turn returns false the Scheduler ends as by a
// Shutdown whose context is over: waits end with ErrShutdown, or unwind their
// coroutines. An idle loop sleeps and takes no turns; Wake makes it take one.
//
// It returns ErrStarted if the Scheduler was started already, ErrInCoroutine in
// a coroutine of any kind, ErrBubble in a bubble of testing/synctest, or the
// operating system's error, after which the Scheduler is as before. Blocks.
func (s *Scheduler) EventLoop(turn func() bool) error {
	if processor.Current() != nil || coroutine.RunningID() != 0 {
		return engine.ErrInCoroutine
	}
	if clock.InBubble() {
		return coroutine.ErrBubble
	}
	s.mu.Lock()
	if s.state != fresh {
		s.mu.Unlock()
		return engine.ErrStarted
	}
	group, err := s.makeLocked(1)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	begun := false
	begin := func() {
		begun = true
		s.runningLocked(group)
		s.mu.Unlock()
	}
	if turn != nil {
		turn = s.untilFalse(turn)
	}
	if err := s.procs[0].RunHere(begin, turn); err != nil {
		if !begun {
			group.Advance(processor.Stopped)
			s.mu.Unlock()
		}
		return err
	}
	<-s.done
	return nil
}

// untilFalse returns a turn that also ends the Scheduler.
func (s *Scheduler) untilFalse(turn func() bool) func() bool {
	return func() bool {
		if turn() {
			return true
		}
		s.group.Load().Advance(processor.Stopping) // at once: every wait ends
		over, cancel := context.WithCancel(context.Background())
		cancel()
		go s.Shutdown(over) // Shutdown waits for this thread
		return false
	}
}

// Wake makes every Processor that is asleep take a turn, from any thread.
func (s *Scheduler) Wake() {
	for _, p := range s.members() {
		p.Wake()
	}
}
