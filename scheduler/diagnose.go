package scheduler

import "github.com/netco-go/netco/internal/diagnose"

// Stall describes a Processor that has not turned for longer than
// Options.Watchdog: during a stall no other coroutine of that Processor runs.
// Its fields are
//
//	Processor int           its number, counted from 0
//	Began     time.Time     when the turn began that has not ended
//	Length    time.Duration until now; or in all, good to an eighth, if it is
//	                        over
//	Over      bool
//
// of the coroutine that had the thread at the time of the check
//
//	Coroutine uint64  0 for none: the loop itself, or a function of its own
//	Name      string  may be ""
//	Site      string  where it was started, as "file:line function", or
//	                  "function"; "" if unknown
//
// and of the cause
//
//	Cause     string  "channel", "mutex", "wait", "sleep", "syscall", "io",
//	                  "cgo", "computation", "page fault", "not scheduled" or
//	                  "unknown"
//	Detail    string  the evidence for Cause: the runtime's word for the wait,
//	                  the system call, the CPU time
//	Stack     string  the stack of the goroutine that has the thread, as a
//	                  traceback prints it, innermost call first; "" if it was
//	                  not taken: Detail then says why
type Stall = diagnose.Stall

// Handoff counts how often Processors went on without a coroutine that was
// blocked outside netco at one place. Its fields are
//
//	Cause     string  as of a Stall
//	BlockedAt string  the user's call in which it was, as Stall.Site;
//	                  "elsewhere" beyond the first 64; or "" if it is unknown,
//	                  since it had woken
//	Count     uint64
//
// and of the last one
//
//	Detail    string  the evidence for Cause: the system call, or the runtime's
//	                  function
//	Coroutine uint64
//	Name      string  may be ""
type Handoff = diagnose.Handoff

// DeadlockError describes a deadlock: all coroutines of the process wait for
// locks, channels or groups, netco's or Go's, or for one another; and no timer,
// context, signal, fd or ordinary goroutine could end a wait. Run returns it;
// it is netco.ErrDeadlock to errors.Is. Its fields are
//
//	Count      int       coroutines
//	Coroutines []string  describes them, 20 lines at most: number, name, reason
//	                     of the wait, where it was made. Coroutines that differ
//	                     only in their numbers share a line
type DeadlockError = diagnose.DeadlockError

// Stalls returns the last 64 stalls, oldest first, including stalls that go on,
// with their lengths so far. From any thread.
func (s *Scheduler) Stalls() []Stall { return s.observer.Stalls() }

// StallCount returns how many stalls a Processor has had, reported or not; 0
// for a Processor that does not exist. Does not park.
func (s *Scheduler) StallCount(processor int) uint64 { return s.observer.StallCount(processor) }

// Handoffs returns how often Processors went on without blocked coroutines, by
// cause and by where these were blocked, the most frequent first. There are at
// most 64 entries, and one more for each cause. From any thread.
func (s *Scheduler) Handoffs() []Handoff { return s.observer.Handoffs() }
