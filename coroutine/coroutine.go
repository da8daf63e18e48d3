package coroutine

import (
	"sync/atomic"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/mpsc"
)

// State says what a coroutine is doing.
type State uint8

// The states; the package documentation has the transitions.
const (
	Dead State = iota
	Ready
	Running
	Waiting
	Outside

	States // the number of states
)

func (s State) String() string {
	return [States]string{"dead", "ready", "running", "waiting", "outside"}[s]
}

// Reason says what a waiting coroutine waits for.
type Reason uint8

// The reasons to wait; the table reasons describes each.
const (
	ReasonNone Reason = iota
	ReasonSleep
	ReasonRead
	ReasonWrite
	ReasonAccept
	ReasonConnect
	ReasonLock
	ReasonJoin
	ReasonUser     // a primitive built outside netco
	ReasonBlocking // a blocking call on another goroutine
	ReasonChannel
	ReasonCond
	ReasonSemaphore
	ReasonGroup // the rest of a group: WaitGroup, Group, Once
	ReasonFuture
	ReasonContext // the end of a context
	ReasonBuffer  // memory for a hot buffer

	Reasons // the number of reasons
)

// reasons has each Reason's name, its text for Info.WaitsFor, and whether the
// wait can be part of a deadlock: only a coroutine or a goroutine ends it, not
// an event, a time, a context or a blocking call.
var reasons = [Reasons]struct {
	name, words string
	deadlocks   bool
}{
	ReasonNone:      {"", "", false},
	ReasonSleep:     {"sleep", "a time", false},
	ReasonRead:      {"read", "data to read", false},
	ReasonWrite:     {"write", "room to write", false},
	ReasonAccept:    {"accept", "a connection to accept", false},
	ReasonConnect:   {"connect", "a connection to be made", false},
	ReasonLock:      {"lock", "a lock", true},
	ReasonJoin:      {"join", "the end of a coroutine", true},
	ReasonUser:      {"user", "something outside netco", false},
	ReasonBlocking:  {"blocking", "a blocking call", false},
	ReasonChannel:   {"channel", "a channel", true},
	ReasonCond:      {"cond", "a condition", true},
	ReasonSemaphore: {"semaphore", "a semaphore", true},
	ReasonGroup:     {"group", "the others of its group", true},
	ReasonFuture:    {"future", "a future", true},
	ReasonContext:   {"context", "the end of a context", false},
	ReasonBuffer:    {"buffer", "memory for a buffer", false},
}

// orContext marks the reason of a wait that also ends with a context.
const orContext Reason = 1 << 7

func (r Reason) String() string { return reasons[r].name }

// Deadlocks reports whether a wait for r can be part of a deadlock.
func (r Reason) Deadlocks() bool { return reasons[r].deadlocks }

// Wake says why a park ended.
type Wake uint8

// The kinds of wake.
const (
	WakeReady     Wake = iota // the condition may hold; check, a wake may be early
	WakeTimeout               // the deadline has passed
	WakeShutdown              // the coroutine is to end by force, with its scheduler or alone
	WakeCancelled             // the context has ended
)

// Coroutine is one coroutine. Its struct is reused after its end: each use is
// an incarnation, with an id of its own, which a [Handle] names.
//
// The fields that a park and a wake touch come first, up to the waiter's
// ticket: 56 bytes. They share one cache line as long as the size is a multiple
// of 64, since the structs of a chunk begin 8 bytes into a line.
type Coroutine struct {
	ex        counter.Pointer[Executor] // owner: writes; its home, nil until it is adopted
	w         counter.Pointer[worker]   // owner: writes; constant while it has started, else nil
	ticket    uint64                    // owner: of the next or present park; never reset
	status    counter.Counter           // see stampUnit
	wake      Wake                      // owner: why the last park ended
	woken     bool                      // owner: a wake came for ticket before the park
	cancelled bool                      // owner: by Handle.Stop: waits end at once, unless shielded
	pinned    bool                      // owner: it stays with its executor, see Pin
	queued    atomic.Bool               // node is in the host's inbox
	waiter    Waiter                    // its co is nil in an inbox function, see Arrive

	fn   func()                  // owner: its function; dropped at the end
	tags labels                  // owner: its creator's profiler labels, until it starts
	name counter.Pointer[string] // owner: writes; nil for none
	site counter.Counter         // owner: writes; where it was made
	id   counter.Counter         // 0 when dead; set last and cleared first, see Info.read

	locals        localValues   // owner: of this incarnation
	cancelRequest atomic.Uint64 // the id of the incarnation that Stop was called for; any thread
	children      *children     // owner: nil for a coroutine without parent and children

	remote atomic.Uint64 // the latest wake from another thread, as ticket<<8|Wake
	node   mpsc.Node[Coroutine]

	joins atomic.Pointer[joins] // nil until it is joined for the first time, then constant
}

// ID returns the coroutine's number, which this process never reuses; 0 once
// the coroutine has ended.
func (co *Coroutine) ID() uint64 { return co.id.Load() }

// Name returns the name that the coroutine was given, or "".
func (co *Coroutine) Name() string {
	if name := co.name.Load(); name != nil {
		return *name
	}
	return ""
}

// Site returns the file and line that started the coroutine, or "" and 0.
func (co *Coroutine) Site() (file string, line int) {
	frame := frameOf(co.site.Load())
	return frame.File, frame.Line
}

// State returns the state at some moment of the call. Any thread.
func (co *Coroutine) State() State {
	return co.stateOf(co.status.Load())
}

func (co *Coroutine) stateOf(status uint64) State {
	s := State(status & 0xff)
	switch ex := co.ex.Load(); {
	case s != Ready || ex == nil:
	case co.leftBehind():
		s = Outside
	case ex.Current() == co:
		s = Running // a switch writes Executor.current, not every coroutine's word
	}
	return s
}

// Reason returns the reason of the present wait. Any thread.
func (co *Coroutine) Reason() Reason { return Reason(co.status.Load()>>8) &^ orContext }

// A coroutine's status word, written by its owner and read by any thread:
//
//	bits    hold
//	0-7     State; Ready also while it is Running or Outside
//	8-15    Reason, while it waits
//	16-63   when the state was stored: CLOCK_MONOTONIC in units of 1,024 ns, as
//	        of the beginning of that turn; 0 if unknown. It wraps nine years
//	        after the machine's start
//
// The executor keeps the turn's time shifted into place, in stamp, so that
// storing it costs an OR; reading the clock would cost 25 ns in a switch of 30.
const (
	stampUnit  = 10 // log2 of the unit in ns
	stampShift = 16
)

// SetClock sets the time (CLOCK_MONOTONIC, ns) that is stored with each change
// of a state. Owner only; to be called at the beginning of each turn.
func (ex *Executor) SetClock(now int64) { ex.stamp = stampOf(now) }

// stampOf returns the time (CLOCK_MONOTONIC, ns) as it stands in a status word.
func stampOf(now int64) uint64 { return uint64(now) >> stampUnit << stampShift }

// since returns the time in a status word.
func since(status uint64) int64 { return int64(status >> stampShift << stampUnit) }

// setState stores a status with the executor's stamp for the time.
func (co *Coroutine) setState(s State, r Reason, stamp uint64) {
	co.status.Set(uint64(s) | uint64(r)<<8 | stamp)
}

// Executor returns the executor that the coroutine runs on, or will run on.
func (co *Coroutine) Executor() *Executor { return co.ex.Load() }

// Current returns the calling coroutine, or nil on an ordinary goroutine. A few
// nanoseconds.
func Current() *Coroutine {
	if w := CurrentWorker(); w != nil {
		return w.co.Own()
	}
	return nil
}

// Node returns the node by which a host's inbox queues co.
func (co *Coroutine) Node() *mpsc.Node[Coroutine] { return &co.node }

// prefetch loads the coroutine's worker into the cache, for a resume. Owner
// only.
func (co *Coroutine) prefetch() {
	if w := co.w.Own(); w != nil {
		w.prefetch()
	}
}

// Handle returns the Handle of this incarnation.
func (co *Coroutine) Handle() Handle { return Handle{co, co.id.Load()} }
