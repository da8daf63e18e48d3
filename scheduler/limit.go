package scheduler

import "go.uber.org/zap"

// Refused returns how many coroutines were refused for Options.MaxCoroutines.
func (s *Scheduler) Refused() uint64 {
	if g := s.group.Load(); g != nil {
		return g.Refused()
	}
	return 0
}

// logRefusal logs that a start was refused, once a second: there may be as many
// refusals as requests.
func (s *Scheduler) logRefusal() {
	if s.refusals.Allow() {
		s.opt.Logger.Warn("coroutines refused", zap.Int("max", s.opt.MaxCoroutines),
			zap.Int("live", s.Live()), zap.Uint64("refused", s.Refused()))
	}
}
