package scheduler

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// refusals has the time of the last logged refusal, as time.Time's UnixNano.
type refusals struct{ last atomic.Int64 }

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
	last, now := s.refusals.last.Load(), time.Now().UnixNano()
	if now-last < int64(time.Second) || !s.refusals.last.CompareAndSwap(last, now) {
		return
	}
	s.opt.Logger.Warn("coroutines refused", zap.Int("max", s.opt.MaxCoroutines),
		zap.Int("live", s.Live()), zap.Uint64("refused", s.Refused()))
}
