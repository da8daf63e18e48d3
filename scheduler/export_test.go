package scheduler

import "time"

// SetUnwindGrace puts another grace in the place of five seconds until restore
// is called.
func SetUnwindGrace(d time.Duration) (restore func()) {
	old := unwindGrace
	unwindGrace = d
	return func() { unwindGrace = old }
}

// DefaultProcessors is how many Processors a Scheduler has by default.
var DefaultProcessors = defaultProcessors
