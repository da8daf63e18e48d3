package processor

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/mpsc"
	"github.com/netco-go/netco/objpool"
	"github.com/netco-go/netco/timer"
)

// PanicInfo describes the panic of a coroutine to a panic handler.
type PanicInfo struct {
	Value     any
	Stack     []byte // as debug.Stack formats it, from where the panic arose
	Coroutine uint64
	Name      string
	Processor int
}

// Config is the configuration of a Processor. Package scheduler validates it.
type Config struct {
	Group      *Group
	Index      int
	CPU        int  // to run on, or -1
	LockThread bool // the Processor keeps its thread, and is not handed on
	NoSpin     bool
	Idle       int // goroutines kept for reuse
	BufferSize int
	MaxBuffers int // in use and kept; 0: any number in use
	Logger     *zap.Logger
	OnPanic    func(PanicInfo) // nil: a panic ends the program
}

// Processor runs coroutines, one at a time, on one thread at a time.
type Processor struct {
	ex coroutine.Executor // owner, unless its methods say otherwise

	// Owner.
	timers     timer.Heap
	timerFD    *timer.FD
	sleepers   *objpool.Pool[timer.Timer] // for coroutines parked with a deadline
	buffers    bufferPool
	spin       spinner
	holding    bool            // it holds the token for its live coroutines and armed Watches
	watches    counter.Counter // armed, or woken and not started yet
	woken      wokenWatches
	phase      Phase
	turn       func() bool     // called in each turn; nil for none
	yielded    counter.Counter // when the loop last passed through Go's scheduler
	yields     uint            // how often it has done so
	trimmed    int64           // when the loop last ended unused goroutines
	onlyP      bool            // GOMAXPROCS was 1 when the loop began
	fewPs      bool            // it was 1, or 2 and this is the only Processor
	helped     uint64          // wakes by other threads, and handoffs, at the last yield
	waitHelped uint64          // the same, at the last wait
	ran        int             // how many runs the last turn had
	history    history         // owner: writes
	waits      waits
	lending    lending // owner
	runs       runMeter
	domain     []*Processor // constant once it has started: the Processors that share fds; or nil
	others     []*Processor // constant likewise: the last members of the other domains
	homeEvents bool         // owner: an event of an unshared fd has come while sharing
	polled     bool         // owner: pollOthers found nothing since the last run
	cfg        Config
	group      *Group

	// Any thread.
	ep          *epoller.Epoller[PollDesc]
	wakes       mpsc.Queue[coroutine.Coroutine]
	posted      atomic.Uint64 // how many were ever pushed to wakes
	retimed     retimed
	returned    returnedTimers
	shared      sharedWaits
	sub         submissions
	ended       chan struct{} // closed when the thread has ended
	alive       atomic.Bool   // the loop runs: fds may be registered
	turnWanted  atomic.Bool   // see Wake
	places      atomic.Uint32 // rotates placement by callers here; owner writes
	placed      atomic.Int32  // fds that Begin has sent here and that are not registered yet
	active      atomic.Bool   // it gets new work, see policy.go
	runCPU      atomic.Int64  // runs.cpuNs; owner writes
	moveRequest atomic.Pointer[moveRequest]

	Stats Stats
	io    IOStats // owner: writes
	time  times   // owner: writes
	apart apart
}

// New makes a Processor and its fds and adds it to its group. Start runs it.
func New(cfg Config) (*Processor, error) {
	ep, err := epoller.Open[PollDesc]()
	if err != nil {
		return nil, err
	}
	tfd, err := timer.Open()
	if err != nil {
		ep.Close()
		return nil, err
	}
	if err := ep.AddTimer(tfd.Fd()); err != nil {
		ep.Close()
		tfd.Close()
		return nil, err
	}
	p := &Processor{
		cfg:      cfg,
		group:    cfg.Group,
		ep:       ep,
		timerFD:  tfd,
		sleepers: objpool.New[timer.Timer](64, 1024),
		ended:    make(chan struct{}),
	}
	p.woken.start = p.startWoken
	p.active.Store(true)
	p.spin.init(cfg.NoSpin)
	p.timers.Late = &p.Stats.LateNs
	p.buffers.size, p.buffers.max = cfg.BufferSize, cfg.MaxBuffers
	ex := coroutine.Config{Host: p, Idle: cfg.Idle}
	if cfg.Group.limit.max != 0 {
		ex.Ended = cfg.Group.releasePermit
	}
	p.ex.Init(ex)
	cfg.Group.members = append(cfg.Group.members, p)
	return p, nil
}

// Discard frees the fds of a Processor that was never started.
func (p *Processor) Discard() {
	p.ep.Close()
	p.timerFD.Close()
}

// init makes the Go runtime open its epoll fd and eventfd while fds are left,
// by opening a file that can be polled. Opening them later, in a process that
// is out of fds, would end it ("netpollinit failed").
func init() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
}

// Wake makes the Processor run another turn, even if it is about to sleep. Any
// thread.
func (p *Processor) Wake() {
	p.turnWanted.Store(true)
	p.ep.Ring()
}

// Reap implements coroutine.Host.
func (p *Processor) Reap(fn func()) {
	p.group.Go(nil, p, internalSpawn(fn))
}

// Ended is closed when the Processor's loop has ended and its fds are closed.
func (p *Processor) Ended() <-chan struct{} { return p.ended }

// Index returns the Processor's number in its group.
func (p *Processor) Index() int { return p.cfg.Index }

// Idle reports whether the Processor is asleep, or about to be. Any thread; the
// Processor may have woken by then.
func (p *Processor) Idle() bool { return p.ep.Sleeping() }

// Group returns the Processor's group.
func (p *Processor) Group() *Group { return p.group }

// Panicked implements coroutine.Host.
func (p *Processor) Panicked(co *coroutine.Coroutine, value any, stack []byte) bool {
	p.cfg.Logger.Error("coroutine panicked",
		zap.Any("panic", value), zap.ByteString("stack", stack)) // LogCore adds its id and name
	if p.cfg.OnPanic == nil {
		return false
	}
	p.cfg.OnPanic(PanicInfo{value, stack, co.ID(), co.Name(), p.cfg.Index})
	return true
}

// Logger returns the Processor's logger. It is not nil.
func (p *Processor) Logger() *zap.Logger { return p.cfg.Logger }

// CurrentLogger returns the logger of the caller's Processor; on an ordinary
// goroutine the logger of any running Processor, or else a no-op logger.
func CurrentLogger() *zap.Logger {
	if p := Current(); p != nil {
		return p.cfg.Logger
	}
	running.mu.Lock()
	defer running.mu.Unlock()
	for _, p := range running.list {
		return p.cfg.Logger
	}
	return silent
}

var silent = zap.NewNop()

// Current returns the Processor on whose thread the caller runs, or nil.
func Current() *Processor {
	if ex := coroutine.CurrentExecutor(); ex != nil {
		return processorOf(ex)
	}
	return nil
}

func init() { coroutine.SetNetClosed(net.ErrClosed) }

// processorOf returns the Processor that hosts an executor, or nil.
func processorOf(ex *coroutine.Executor) *Processor {
	if ex == nil {
		return nil
	}
	p, _ := ex.Host().(*Processor)
	return p
}

// errNotRunning is returned to an ordinary goroutine that needs a Processor
// while none runs.
var errNotRunning = errors.New("netco: no processor is running")

// running lists the Processors that register fds for ordinary goroutines.
var running struct {
	mu   inside.Mutex
	list []*Processor
}

func addRunning(p *Processor) {
	running.mu.Lock()
	running.list = append(running.list, p)
	running.mu.Unlock()
}

func removeRunning(p *Processor) {
	running.mu.Lock()
	running.list = slices.DeleteFunc(running.list, func(q *Processor) bool { return q == p })
	running.mu.Unlock()
}

// AllRunning returns the running Processors of all groups. Any thread.
func AllRunning() []*Processor {
	running.mu.Lock()
	defer running.mu.Unlock()
	return slices.Clone(running.list)
}

// runningGroup returns the default Scheduler's or any other running group, or
// nil.
func runningGroup() *Group {
	if g := byDefault.Load().group; g != nil {
		return g
	}
	if p := leastEnding(); p != nil {
		return p.group
	}
	return nil
}
