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

// The causes of a Stall.
const (
	CauseChannel      = causeChannel
	CauseMutex        = causeMutex
	CauseWait         = causeWait
	CauseSleep        = causeSleep
	CauseSyscall      = causeSyscall
	CauseIO           = causeIO
	CauseCgo          = causeCgo
	CauseComputation  = causeComputation
	CausePageFault    = causePageFault
	CauseNotScheduled = causeNotScheduled
	CauseUnknown      = causeUnknown
	BlockedElsewhere  = blockedElsewhere
)
