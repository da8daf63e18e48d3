package introspect

import "time"

// The answers as JSON. docs/PAGES.md documents their fields for users, and
// testdata/answers.json has an example of each.

// overviewJSON is the page "" or "overview" as JSON.
type overviewJSON struct {
	Time     time.Time `json:"time"`      // of the answer
	Phase    string    `json:"phase"`     // "new", "running", "draining", "stopping", "stopped"
	UptimeNs int64     `json:"uptime_ns"` // of the longest running Processor
	PID      int       `json:"pid"`

	// The main module and its version, "" if the program was built without.
	Program       string `json:"program"`
	Netco         string `json:"netco"` // netco's version
	Go            string `json:"go"`
	Backend       string `json:"backend"` // how contexts are switched: "asm", "portable"
	BackendReason string `json:"backend_reason"`
	LogLevel      string `json:"log_level,omitempty"` // if Options.AllowLogLevel is set

	Processors []processorJSON `json:"processors"` // by index
	Coroutines countsJSON      `json:"coroutines"` // of all Processors
	// Coroutines not started because of Options.MaxCoroutines.
	Refused  uint64        `json:"refused"`
	Stalls   []stallJSON   `json:"stalls"`   // the last few, the latest first
	Handoffs []handoffJSON `json:"handoffs"` // the most frequent few

	Deadlock *deadlockJSON `json:"deadlock"` // null: there is none

	// LockCircles are deadlocks of some coroutines: each waits for a lock that
	// the next one holds, and the last for a lock of the first.
	LockCircles []lockCircleJSON `json:"lock_circles"`
}

// countsJSON are coroutines by state.
type countsJSON struct {
	Live uint64 `json:"live"` // that have started and not ended
	// Coroutines that are in no run queue yet.
	Submitted int               `json:"submitted"`
	Ready     uint64            `json:"ready"`
	Running   uint64            `json:"running"`
	Waiting   uint64            `json:"waiting"`
	Outside   uint64            `json:"outside"` // left behind while blocked outside netco
	Reasons   map[string]uint64 `json:"reasons"` // the waiting ones, by what they wait for
	Partial   bool              `json:"partial"` // there was no time to look at all of them
}

// processorJSON runs coroutines, one at a time.
type processorJSON struct {
	Index   int    `json:"index"`   // from 0
	Tid     int    `json:"tid"`     // of its own thread; 0 without Options.LockThreads
	State   string `json:"state"`   // "asleep", "busy", "stalled", "not started"
	Current uint64 `json:"current"` // the id of the coroutine that runs, 0 for none
	Active  bool   `json:"active"`  // it is given new work, see scheduler.Options.MinActive

	Live      uint64 `json:"live"`      // coroutines
	Queued    uint64 `json:"queued"`    // of them, ready when the last turn began
	Inbox     int    `json:"inbox"`     // wakes from other threads that it has not seen yet
	Submitted int    `json:"submitted"` // coroutines given to it and not yet in its run queue
	FDs       int    `json:"fds"`       // registered with its epoll instance
	Timers    uint64 `json:"timers"`    // pending
	Spawned   uint64 `json:"spawned"`   // coroutines it has started, since the start as all below
	Moved     uint64 `json:"moved"`     // coroutines and idle connections, to this one
	Turns     uint64 `json:"turns"`
	Sleeps    uint64 `json:"sleeps"`
	BytesIn   uint64 `json:"bytes_in"`
	BytesOut  uint64 `json:"bytes_out"`

	SinceNs int64 `json:"since_ns"` // how long it has been running
	BusyNs  int64 `json:"busy_ns"`
	SpinNs  int64 `json:"spin_ns"`
	IdleNs  int64 `json:"idle_ns"`
	CPUNs   int64 `json:"cpu_ns"`  // of that thread; -1 without one
	TurnNs  int64 `json:"turn_ns"` // how long the turn has lasted that goes on; 0 when asleep

	Load    float64 `json:"load"`        // the busy part of the last half minute, 0 to 1
	TurnP50 int64   `json:"turn_p50_ns"` // of the turns of the last minutes
	TurnP99 int64   `json:"turn_p99_ns"`
	TurnMax int64   `json:"turn_max_ns"`
	WaitNs  int64   `json:"wait_ns"` // from ready to resumed, on average in the last half minute
	Stalls  uint64  `json:"stalls"`

	History []sliceJSON `json:"history"` // the last minutes
}

// sliceJSON is a part of a Processor's last minutes, five seconds long.
type sliceJSON struct {
	AgoNs  int64  `json:"ago_ns"` // when it began
	Turns  uint64 `json:"turns"`
	BusyNs uint64 `json:"busy_ns"`
	P50Ns  int64  `json:"p50_ns"` // of the turns' lengths, good to a factor of two
	P99Ns  int64  `json:"p99_ns"`
	MaxNs  int64  `json:"max_ns"`
}

// deadlockJSON describes a deadlock of all coroutines.
type deadlockJSON struct {
	Count      uint64          `json:"count"`      // of all such coroutines
	Coroutines []coroutineJSON `json:"coroutines"` // some of them, by id
}

// lockCircleJSON is a deadlock of some coroutines.
type lockCircleJSON struct {
	Circle     string          `json:"circle"`     // "2 waits for 3, 3 waits for 2"
	Count      int             `json:"count"`      // of the coroutines
	Coroutines []coroutineJSON `json:"coroutines"` // the first 20
}

// coroutineJSON is a coroutine that has started.
type coroutineJSON struct {
	ID    uint64 `json:"id"`    // see Handle.ID of package scheduler
	Name  string `json:"name"`  // cut to 1 KiB
	State string `json:"state"` // "ready", "running", "waiting", "outside"
	// The kind of its wait: "read", "lock", "channel"; "" if it does not wait.
	Reason   string `json:"reason"`
	WaitsFor string `json:"waits_for"`
	// HeldBy is the id of the coroutine that holds the lock it waits for; the
	// holder may have ended. 0: there is no such lock, its holder is an
	// ordinary goroutine, or the holder is not known: see LIMITS.md, Deadlocks.
	HeldBy    uint64 `json:"held_by,omitempty"`
	SinceNs   int64  `json:"since_ns"` // for how long it has been in this state; -1: not known
	Processor int    `json:"processor"`
	Func      string `json:"func"` // where it was started
	File      string `json:"file"`
	Line      int    `json:"line"`

	Stack      string `json:"stack,omitempty"` // page "coroutine" with stack=1
	StackError string `json:"stack_error,omitempty"`
}

// listJSON is one page of a list.
type listJSON struct {
	Seen    uint64 `json:"seen"`    // that were looked at
	Matched uint64 `json:"matched"` // of them, those that the filter lets through
	First   uint64 `json:"first"`   // the number of the first row among those, from 1
	Next    string `json:"next"`    // for the parameter after; "" on the last page
	Prev    string `json:"prev"`    // for the parameter before; "" on the first page
	Partial bool   `json:"partial"` // there was no time to look at all of them
}

// coroutinesJSON is the page "coroutines" as JSON.
type coroutinesJSON struct {
	listJSON
	Coroutines []coroutineJSON `json:"coroutines"` // the rows of this page
}

// groupsJSON is the page "coroutines" with the parameter group as JSON.
type groupsJSON struct {
	By      string      `json:"by"`   // what they have in common: the parameter group
	Seen    uint64      `json:"seen"` // this and what follows is as in listJSON
	Matched uint64      `json:"matched"`
	Partial bool        `json:"partial"`
	Groups  []groupJSON `json:"groups"` // the largest first
	// The largest number of a group's coroutines that were not counted, as
	// there were more groups than are kept.
	Missing uint64 `json:"missing"`
}

// groupJSON is a number of coroutines that have something in common.
type groupJSON struct {
	Key     string            `json:"key"`   // what they have in common
	Count   uint64            `json:"count"` // of all of them
	Ready   uint64            `json:"ready"` // this and what follows is as in countsJSON
	Running uint64            `json:"running"`
	Waiting uint64            `json:"waiting"`
	Outside uint64            `json:"outside"`
	Reasons map[string]uint64 `json:"reasons"`
	// The longest time that a coroutine of the group has been in its state.
	OldestNs int64 `json:"oldest_ns"`
}

// socketsJSON is the page "sockets" as JSON.
type socketsJSON struct {
	listJSON
	Sockets []socketJSON `json:"sockets"` // the rows of this page
}

// socketJSON is a socket that is registered with a Processor.
type socketJSON struct {
	FD int `json:"fd"` // its number in this process
	// "listener", "connection"; "idle": a Server's connection that holds no
	// coroutine.
	Kind        string `json:"kind"`
	Network     string `json:"network"`
	Local       string `json:"local"`
	Remote      string `json:"remote"`
	Processor   int    `json:"processor"`
	ReadWaiter  uint64 `json:"read_waiter"` // the id of the coroutine, 0 for none
	WriteWaiter uint64 `json:"write_waiter"`
}

// requestsJSON is the page "requests" as JSON: requests of HTTP/1 whose
// handlers run, of net/http's Servers of the whole process.
type requestsJSON struct {
	Requests []requestJSON `json:"requests"` // the oldest first, 1000 at most
	Total    int           `json:"total"`
}

// requestJSON is a request under way.
type requestJSON struct {
	Method string `json:"method"`
	Target string `json:"target"` // cut
	Remote string `json:"remote"`
	Proto  string `json:"proto"`
	AgeNs  int64  `json:"age_ns"` // since its handler was called; 0: before the pages were
	// Its handler runs on an ordinary goroutine, as it often blocks outside
	// netco.
	Goroutine bool `json:"goroutine"`
}

// timersJSON is the page "timers" as JSON.
type timersJSON struct {
	Processors []processorTimersJSON `json:"processors"` // by index
}

// processorTimersJSON describes the timers of one Processor, and how late they
// fired since its start.
type processorTimersJSON struct {
	Processor int    `json:"processor"` // its index
	Pending   uint64 `json:"pending"`   // timers that have not fired
	Fired     uint64 `json:"fired"`     // since its start
	MeanNs    int64  `json:"mean_ns"`   // by how much they fired late, as all below
	P50Ns     int64  `json:"p50_ns"`    // upper bounds, good to a fifth
	P90Ns     int64  `json:"p90_ns"`
	P99Ns     int64  `json:"p99_ns"`
	P999Ns    int64  `json:"p999_ns"`
	MaxNs     int64  `json:"max_ns"`
}

// stallsJSON is the page "stalls" as JSON.
type stallsJSON struct {
	Stalls   []stallJSON   `json:"stalls"`   // the latest first
	Handoffs []handoffJSON `json:"handoffs"` // the most frequent first; of all Processors
}

// handoffJSON counts how often Processors went on without a coroutine that was
// blocked outside netco at one place.
type handoffJSON struct {
	Cause     string `json:"cause"`      // see scheduler.Handoff
	BlockedAt string `json:"blocked_at"` // "" if unknown
	Count     uint64 `json:"count"`
	Detail    string `json:"detail"` // this and what follows is of the last one
	Coroutine uint64 `json:"coroutine"`
	Name      string `json:"name"`
}

// stallJSON describes a Processor that was held up.
type stallJSON struct {
	Processor int       `json:"processor"` // its index
	Began     time.Time `json:"began"`
	LengthNs  int64     `json:"length_ns"` // so far, unless it is over
	Over      bool      `json:"over"`      // it makes turns again
	Coroutine uint64    `json:"coroutine"` // 0: none ran
	Name      string    `json:"name"`
	Site      string    `json:"site"`
	Cause     string    `json:"cause"` // see scheduler.Stall
	Detail    string    `json:"detail"`
	Stack     string    `json:"stack"`
}

// logLevelJSON is the page "loglevel" as JSON, and the body of a PUT.
type logLevelJSON struct {
	Level string `json:"level"` // as zap names it: "debug", "info", "warn", "error"
}

// failureJSON is the JSON of every answer whose status is not 200.
type failureJSON struct {
	Error string `json:"error"` // what was wrong, for a reader
}
