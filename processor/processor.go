package processor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/mpsc"
	"github.com/netco-go/netco/objpool"
	"github.com/netco-go/netco/timer"
)

// PanicInfo tells a panic handler of a coroutine that has panicked.
type PanicInfo struct {
	Value     any
	Stack     []byte // as debug.Stack gives it, from where the panic arose
	Coroutine uint64
	Name      string
	Processor int
}

// Config is what a Processor is made with. Package scheduler validates it.
type Config struct {
	Group      *Group
	Index      int
	CPU        int  // to run on, or -1
	LockThread bool // it keeps its thread, and is not handed on
	Spin       SpinMode
	Idle       int // goroutines kept for reuse
	BufferSize int
	MaxBuffers int // in use and kept; 0: any number in use
	Logger     *zap.Logger
	OnPanic    func(PanicInfo) // nil: a panic ends the program
}

// Processor runs coroutines, one at a time, on one thread at a time.
type Processor struct {
	ex coroutine.Executor // owner, but for what it documents

	// Owner.
	timers   timer.Heap
	timerFD  *timer.FD
	sleepers *objpool.Pool[timer.Timer] // for coroutines parked with a deadline
	buffers  bufferPool
	spin     spinner
	holding  bool            // has the token for its live coroutines and armed Watches
	watches  counter.Counter // armed, or woken and not started yet
	woken    wokenWatches
	phase    Phase
	turn     func() bool // to be called in each turn; nil for none
	ran      bool        // the last turn ran something
	history  history     // owner: writes
	lending  lending     // owner
	cfg      Config
	group    *Group

	// Any thread.
	ep      *epoller.Epoller[PollDesc]
	wakes   mpsc.Queue[coroutine.Coroutine]
	posted  atomic.Uint64 // to wakes, ever
	retimed retimed
	sub     submissions
	ended   chan struct{} // closed when the thread has ended
	alive   atomic.Bool   // the loop runs: fds may be registered
	nudged  atomic.Bool   // a turn is wanted, see Wake
	placed  atomic.Int32  // fds that Begin has sent here and that are not registered yet
	active  atomic.Bool   // it is given work, see balance.go
	gift    atomic.Pointer[gift]

	Stats Stats
	io    IOStats   // owner: writes
	time  clockwork // owner: writes
}

// New makes a Processor and its fds and adds it to its group. Start runs it.
func New(cfg Config) (*Processor, error) {
	if err := ensureNetpoll(); err != nil {
		return nil, err
	}
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
		sleepers: objpool.New(objpool.Options[timer.Timer]{Chunk: 64}),
		ended:    make(chan struct{}),
	}
	p.woken.start = p.startWoken
	p.active.Store(true)
	p.spin.init(cfg.Spin)
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

// netpoll is whether Go's own poller is known to exist.
var netpoll struct {
	mu     sync.Mutex
	exists bool
}

// ensureNetpoll makes Go's own poller exist before a Processor takes fds. A process whose fds run out first dies when the
// runtime then wants its epoll fd and eventfd ("netpollinit failed"), so it is made while there is room, or not at all.
func ensureNetpoll() error {
	netpoll.mu.Lock()
	defer netpoll.mu.Unlock()
	if netpoll.exists {
		return nil
	}
	const room = 6 // its two, and two pipes' worth below
	var reserved []int
	var err error
	for range room {
		var fd int
		if fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
			err = fmt.Errorf("netco: no fds left to start with: %w", os.NewSyscallError("eventfd2", err))
			break
		}
		reserved = append(reserved, fd)
	}
	for _, fd := range reserved {
		unix.Close(fd)
	}
	if err != nil {
		return err
	}
	r, w, err := os.Pipe() // pollable, so the runtime makes its poller
	if err != nil {
		return err
	}
	r.Close()
	w.Close()
	netpoll.exists = true
	return nil
}

// Wake makes the Processor take another turn, from any thread, also when it is about to sleep.
func (p *Processor) Wake() {
	p.nudged.Store(true)
	p.ep.Ring()
}

// Reap implements coroutine.Reaper.
func (p *Processor) Reap(fn func()) { p.Spawn(nil, Spawn{Fn: fn, Pinned: true, Unlimited: true}) }

// Ended is closed when the Processor's thread has ended and its fds are closed.
func (p *Processor) Ended() <-chan struct{} { return p.ended }

// Index returns its place in the group.
func (p *Processor) Index() int { return p.cfg.Index }

// Idle reports whether the Processor is asleep, or about to be, with nothing to do. From any thread; it may be over by then.
func (p *Processor) Idle() bool { return p.ep.Sleeping() }

// Group returns the group it belongs to.
func (p *Processor) Group() *Group { return p.group }

// Panicked implements coroutine.Host.
func (p *Processor) Panicked(co *coroutine.Coroutine, value any, stack []byte) bool {
	p.cfg.Logger.Error("coroutine panicked",
		zap.Any("panic", value), zap.ByteString("stack", stack)) // and who it was, see LogCore
	if p.cfg.OnPanic == nil {
		return false
	}
	p.cfg.OnPanic(PanicInfo{value, stack, co.ID(), co.Name(), p.cfg.Index})
	return true
}

// Logger returns what the Processor logs to. It is not nil.
func (p *Processor) Logger() *zap.Logger { return p.cfg.Logger }

// HereLogger returns the logger of the caller's Processor, on an ordinary goroutine that of any that runs, or else one that logs nothing.
func HereLogger() *zap.Logger {
	if p := Here(); p != nil {
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

// Here returns the Processor on whose thread the caller runs, or nil.
func Here() *Processor {
	if ex := coroutine.CurrentExecutor(); ex != nil {
		return of(ex)
	}
	return nil
}

// of returns the Processor around an executor, or nil if something else hosts it.
func of(ex *coroutine.Executor) *Processor {
	p, _ := ex.Host().(*Processor)
	return p
}

// ErrNotRunning is returned when an ordinary goroutine needs a Processor and
// none runs.
var ErrNotRunning = errors.New("netco: no processor is running")

// running lists the Processors that take fds of callers that are on none.
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

// starter starts the default Scheduler; nil where package netco is not part of
// the program.
var starter func() error

// SetStarter sets what starts the default Scheduler. For package netco's init.
func SetStarter(start func() error) { starter = start }

// runningGroup returns the default Scheduler's group, or any that runs, or nil.
func runningGroup() *Group {
	if g := defaultGroup.Load(); g != nil {
		return g
	}
	running.mu.Lock()
	defer running.mu.Unlock()
	if len(running.list) == 0 {
		return nil
	}
	return running.list[0].group
}

// anywhere picks the running Processor with the fewest fds, starting the
// default scheduler if none runs. For ordinary goroutines.
func anywhere() (*Processor, error) {
	if clock.InBubble() {
		return nil, coroutine.ErrBubble
	}
	for range 2 {
		running.mu.Lock()
		var best *Processor
		for _, p := range running.list {
			if best == nil || p.fds() < best.fds() {
				best = p
			}
		}
		running.mu.Unlock()
		if best != nil {
			return best, nil
		}
		if starter == nil {
			break
		}
		if err := starter(); err != nil {
			return nil, err
		}
	}
	return nil, ErrNotRunning
}
