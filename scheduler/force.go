package scheduler

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// What a line about coroutines that had to be ended holds at most.
const (
	shownForced = 20
	shownName   = 100 // bytes
)

// EndedByForce describes the coroutines whose waits [Scheduler.Shutdown] had to
// end, 20 at most: id, name, state, where they were made. all is how many there
// were, with those that had been started and had not run yet. It is empty as
// long as there was none. From any thread.
func (s *Scheduler) EndedByForce() (some []string, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forced.some, s.forced.all
}

// forced is what EndedByForce returns.
type forced struct {
	some []string
	all  int
}

// noteForced records and logs which coroutines live.
func (s *Scheduler) noteForced() {
	f := forced{s.alive(), s.group.Load().Alive()}
	f.all = max(f.all, len(f.some)) // some may have started since
	if f.all == 0 {
		return // the last one has ended just now
	}
	s.mu.Lock()
	s.forced = f
	s.mu.Unlock()
	if s.reporting() {
		reports.forced(f)
	}
	s.opt.Logger.Warn(
		"coroutines are ended by force",
		zap.Int("count", f.all),
		zap.Strings("coroutines", f.some),
	)
}

// alive describes coroutines that have started and live, shownForced at most.
func (s *Scheduler) alive() (list []string) {
	coroutine.Range(func(i coroutine.Info) bool {
		if p, ok := i.Host.(*processor.Processor); !ok || of(p) != s {
			return true
		}
		i.Resolve()
		list = append(list, describe(&i, 1))
		return len(list) < shownForced
	})
	return list
}

// describe describes a coroutine, which stands for count that differ
// in nothing but their numbers.
func describe(i *coroutine.Info, count int) string {
	text := fmt.Sprint(i.ID)
	if i.Name != "" {
		text += fmt.Sprintf(" %.*q", shownName, i.Name)
	}
	if count > 1 {
		text += fmt.Sprintf(" and %d more", count-1)
	}
	switch {
	case i.State == coroutine.Outside:
		text += ", blocked outside netco"
	case i.WaitsFor != "":
		text += ", waiting for " + i.WaitsFor + heldBy(i.Held())
	default:
		text += ", " + i.State.String()
	}
	if at := site(i.File, i.Line, i.Func); at != "" {
		text += ", made at " + at
	}
	return text
}
