package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/inside"
)

// Phase is a stage of a group's life. It only rises.
type Phase int32

// The phases.
const (
	Running  Phase = iota
	Draining       // only coroutines start work, listeners do not accept; coroutines end themselves
	Stopping       // every park ends with WakeShutdown
	Stopped        // Processors end as soon as no coroutine lives on them
)

// Group is what the Processors of one Scheduler share.
//
// Tokens: active counts the reasons why the group is not quiet, one token for
// each Processor on which a coroutine lives (holding), and one token for each
// submission from another thread that no Processor has adopted. A token is
// taken before the coroutine or submission is visible, and given back after it
// is gone. So active is 0 only when no coroutine lives or is on its way.
type Group struct {
	Owner any // constant: the Scheduler

	// Hooks: constant once the first member has started; nil for none.
	OnHandoff func(*coroutine.LeftBehind) // called on an ordinary goroutine

	OnRefused func() // called for each refused start, on the thread of its caller

	members       []*Processor   // constant once the first has started
	domains       [][]*Processor // constant likewise: share fds, see share.go; or nil
	phase         atomic.Int32
	active        atomic.Int64
	spinners      atomic.Int32  // Processors that spin
	turns         atomic.Uint32 // rotates placement among many, for callers on no Processor
	limit         limit
	sharing       atomic.Bool // the members of each domain share their fds, see share.go
	balanced      atomic.Bool // the monitor runs; it ends sharing
	watchdogPause pauseState  // owner: the watchdog
	monitor       *monitor    // nil without one

	minActive    int        // fewest active members; constant once the first has started
	monitorPause pauseState // owner: the monitor

	mu       inside.Mutex
	quiet    chan struct{}        // closed when active reaches 0, then replaced; under mu
	draining map[*func()]struct{} // under mu: the functions of OnDraining
}

// NewGroup returns a group without members, of the Scheduler owner.
func NewGroup(owner any) *Group {
	return &Group{
		Owner:         owner,
		quiet:         make(chan struct{}),
		watchdogPause: newPauseState(),
		monitorPause:  newPauseState(),
	}
}

// Members returns the Processors in the order of their indices. The slice must
// not be changed.
func (g *Group) Members() []*Processor { return g.members }

// Phase returns the group's phase.
func (g *Group) Phase() Phase { return Phase(g.phase.Load()) }

// Advance raises the phase to at least ph and has every Processor act on it.
func (g *Group) Advance(ph Phase) {
	for {
		old := g.phase.Load()
		if old >= int32(ph) {
			break
		}
		if g.phase.CompareAndSwap(old, int32(ph)) {
			break
		}
	}
	if ph > Running {
		g.EndSharing()
	}
	for _, p := range g.members {
		p.ex.RequestPreempt()
		p.ep.Ring()
	}
	g.advanceGoroutineFDs(g.Phase())
	g.callDraining()
}

// OnDraining has f called once when the group leaves Running, or at once if it
// does not run any more, unless stop was called before. f runs on the thread
// that advances the group and must not park. Any thread.
func (g *Group) OnDraining(f func()) (stop func()) {
	key := &f
	g.mu.Lock()
	if g.draining == nil {
		g.draining = map[*func()]struct{}{}
	}
	g.draining[key] = struct{}{}
	g.mu.Unlock()
	if g.Phase() >= Draining {
		g.callDraining()
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.draining, key)
	}
}

func (g *Group) callDraining() {
	g.mu.Lock()
	due := g.draining
	g.draining = nil
	g.mu.Unlock()
	for f := range due {
		(*f)()
	}
}

// Discard frees the fds of a group whose Processors were never started.
func (g *Group) Discard() {
	for _, p := range g.members {
		p.Discard()
	}
}

// Wait waits until the members and the monitor have ended, after Advance to
// Stopped.
func (g *Group) Wait() {
	for _, p := range g.members {
		<-p.ended
	}
	if g.monitor != nil {
		close(g.monitor.quit)
		<-g.monitor.ended
	}
}

// Active reports whether any coroutine of the group lives or is about to live.
func (g *Group) Active() bool { return g.active.Load() != 0 }

// Quiet returns a channel that is closed once the group is quiet. The group may
// be active again by the time the receiver runs.
func (g *Group) Quiet() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.Active() {
		c := make(chan struct{})
		close(c)
		return c
	}
	return g.quiet
}

// Alive returns how many coroutines of the group have been started and have not
// ended, including coroutines that no Processor has adopted, or that are
// moving. No coroutine is adopted meanwhile. Any thread.
func (g *Group) Alive() (n int) {
	for _, p := range g.members {
		p.sub.mu.Lock()
		n += len(p.sub.stealable) + len(p.sub.pinned) - int(p.ex.Stats.Ended.Load())
	}
	for _, p := range g.members { // last: a coroutine that ends meanwhile was alive
		n += int(p.ex.Stats.Spawned.Load())
	}
	for _, p := range g.members {
		p.sub.mu.Unlock()
	}
	return n
}

func (g *Group) takeToken() { g.active.Add(1) }

func (g *Group) giveToken() {
	if g.active.Add(-1) == 0 {
		g.mu.Lock()
		close(g.quiet)
		g.quiet = make(chan struct{})
		g.mu.Unlock()
	}
}
