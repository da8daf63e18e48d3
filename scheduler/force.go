package scheduler

import "github.com/netco-go/netco/internal/diagnose"

// EndedByForce describes the coroutines whose waits [Scheduler.Shutdown] had to
// end, 20 at most: id, name, state, where they were made. all is their number,
// including coroutines that had not run yet. Without a forced end both are
// zero. From any thread.
func (s *Scheduler) EndedByForce() (some []string, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forced.some, s.forced.all
}

// forced has the results of EndedByForce.
type forced struct {
	some []string
	all  int
}

// noteForced records and logs which coroutines live.
func (s *Scheduler) noteForced() {
	f := forced{diagnose.Alive(s.group.Load()), s.group.Load().Alive()}
	f.all = max(f.all, len(f.some)) // coroutines may have started since
	if f.all == 0 {
		return // the last coroutine has just ended
	}
	s.mu.Lock()
	s.forced = f
	s.mu.Unlock()
	s.observer.Forced(f.some, f.all)
}
