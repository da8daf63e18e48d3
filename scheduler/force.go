package scheduler

import "github.com/netco-go/netco/internal/diagnose"

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
	f := forced{diagnose.Alive(s.group.Load()), s.group.Load().Alive()}
	f.all = max(f.all, len(f.some)) // some may have started since
	if f.all == 0 {
		return // the last one has ended just now
	}
	s.mu.Lock()
	s.forced = f
	s.mu.Unlock()
	s.observer.Forced(f.some, f.all)
}
