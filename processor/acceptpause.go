package processor

import (
	"net"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/internal/clock"
)

// When fds or memory are lacking, accepting pauses for minAcceptPause, doubled
// each time up to maxAcceptPause, until it succeeds again. The program gets no
// error; the pause is logged.

const (
	minAcceptPause = time.Millisecond
	maxAcceptPause = 100 * time.Millisecond
)

// AcceptPause is the pauses in accepting from one listener. Owner: the code
// that accepts.
type AcceptPause struct {
	length   time.Duration // of the last pause; 0: accepting does not pause
	unlogged int           // pauses, each longer than the one before, since the last line
	logged   bool          // the last line says that accepting pauses
	lines    LogLimit
}

// Next returns how long the next pause is. It logs pauses that are longer than
// the last, so attempts caused by connections that arrive meanwhile log
// nothing: one line a second, since each fd that is closed ends a pause. The
// logger adds the Processor.
func (p *AcceptPause) Next(at net.Listener, err error) time.Duration {
	if next := min(max(2*p.length, minAcceptPause), maxAcceptPause); next != p.length {
		p.length = next
		p.unlogged++
	}
	if p.unlogged > 0 && p.lines.Allow() {
		CurrentLogger().Warn("accepting pauses", zap.Stringer("listener", at.Addr()),
			zap.Error(err), zap.Duration("pause", p.length), zap.Int("unreported", p.unlogged-1))
		p.unlogged, p.logged = 0, true
	}
	return p.length
}

// End ends the pauses: accepting has succeeded.
func (p *AcceptPause) End(at net.Listener) {
	p.length = 0
	if p.logged {
		p.logged = false
		CurrentLogger().Warn("accepting goes on", zap.Stringer("listener", at.Addr()))
	}
}

// LogLimit limits a log line to one a second. Any thread.
type LogLimit struct{ last atomic.Int64 } // CLOCK_MONOTONIC, ns

// Allow reports whether the line may be written now.
func (l *LogLimit) Allow() bool {
	last, now := l.last.Load(), clock.Real()
	return now-last >= int64(time.Second) && l.last.CompareAndSwap(last, now)
}
