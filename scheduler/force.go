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
// were. It is empty as long as there was none. From any thread.
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
	f := forced{s.alive(), s.Live()}
	f.all = max(f.all, len(f.some))
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
		list = append(list, describe(&i))
		return len(list) < shownForced
	})
	return list
}

func describe(i *coroutine.Info) string {
	text := fmt.Sprint(i.ID)
	if i.Name != "" {
		text += fmt.Sprintf(" %.*q", shownName, i.Name)
	}
	text += ", " + i.State.String()
	if i.WaitsFor != "" {
		text += " for " + i.WaitsFor + heldBy(i.Held())
	}
	if at := site(i.File, i.Line, i.Func); at != "" {
		text += ", made at " + at
	}
	return text
}
