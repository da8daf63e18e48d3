package socket

import (
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/processor"
)

// For want of fds or of memory accepting pauses, 1 ms at first, and twice as long each time until it succeeds again. That is no error
// of the program's, and so it is nobody's to notice but the log's.

const (
	minBackoff = time.Millisecond
	maxBackoff = 100 * time.Millisecond
)

// backOff returns how long the next pause is. Under the read lock. It logs longer pauses than there were before, and so no attempts
// that come of connections arriving meanwhile. Which Processor it is, the logger adds.
func (l *listener) backOff(errno syscall.Errno) time.Duration {
	if pause := min(max(2*l.backoff, minBackoff), maxBackoff); pause != l.backoff {
		l.backoff = pause
		processor.HereLogger().Warn("accepting pauses", zap.Stringer("listener", l.Addr()), zap.Error(errno), zap.Duration("pause", pause))
	}
	return l.backoff
}

// goOn ends backing off. Under the read lock.
func (l *listener) goOn() {
	if l.backoff != 0 {
		l.backoff = 0
		processor.HereLogger().Warn("accepting goes on", zap.Stringer("listener", l.Addr()))
	}
}
