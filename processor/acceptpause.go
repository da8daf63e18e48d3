package processor

import (
	"net"
	"time"

	"go.uber.org/zap"
)

// When fds or memory are lacking, accepting pauses for minAcceptPause, doubled
// each time up to maxAcceptPause, until it succeeds again. The program gets no
// error; the pause is logged.

const (
	minAcceptPause = time.Millisecond
	maxAcceptPause = 100 * time.Millisecond
)

// AcceptPause is the length of the last pause in accepting from one listener.
// The zero value means that accepting does not pause. Owner: the code that
// accepts.
type AcceptPause time.Duration

// Next returns how long the next pause is. It logs only a pause longer than the
// last, so attempts caused by connections that arrive meanwhile log nothing.
// The logger adds the Processor.
func (p *AcceptPause) Next(listener net.Addr, err error) time.Duration {
	last := time.Duration(*p)
	if pause := min(max(2*last, minAcceptPause), maxAcceptPause); pause != last {
		*p = AcceptPause(pause)
		CurrentLogger().Warn("accepting pauses", zap.Stringer("listener", listener),
			zap.Error(err), zap.Duration("pause", pause))
	}
	return time.Duration(*p)
}

// End ends the pauses: accepting has succeeded.
func (p *AcceptPause) End(listener net.Addr) {
	if *p != 0 {
		*p = 0
		CurrentLogger().Warn("accepting goes on", zap.Stringer("listener", listener))
	}
}
