package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/inside"
)

// Phase is where a group is between start and end. It only rises.
type Phase int32

// The phases.
const (
	Running  Phase = iota
	Draining       // no new work from outside, listeners no longer accept; coroutines end by themselves
	Stopping       // every park ends with WakeShutdown
	Stopped        // Processors end as soon as no coroutine lives on them
)

// Group is what the Processors of one scheduler share.
//
// Tokens. active counts reasons why the group is not quiet: one token for each Processor on which a coroutine lives
// (holding), and one for each submission from another thread that no Processor has adopted. A token is taken before
// what it stands for is visible and given back after it is gone, so active is 0 only when nothing lives and nothing is
// under way.
type Group struct {
	Owner     any                         // constant: the scheduler
	OnHandoff func(*coroutine.LeftBehind) // constant once the first member has started; called on an ordinary goroutine, may be nil

	OnRefused func() // as OnHandoff; called by what starts a coroutine and is refused

	members  []*Processor // constant once the first has started
	phase    atomic.Int32
	active   atomic.Int64
	spinners atomic.Int32
	turns    atomic.Uint32 // rotates placement among many
	limit    limit
	watchdog doze
	monitor  *monitor // nil without one

	minActive int  // how many members are active at least; constant once the first has started
	dozing    doze // the monitor's

	mu    inside.Mutex
	quiet chan struct{} // closed when active reaches 0, then replaced; under mu
}

// NewGroup returns a group without members.
func NewGroup(owner any) *Group {
	return &Group{Owner: owner, quiet: make(chan struct{}), watchdog: newDoze(), dozing: newDoze()}
}

// Members returns the Processors in the order of their indices. Not to be changed.
func (g *Group) Members() []*Processor { return g.members }

// Phase returns the group's phase.
func (g *Group) Phase() Phase { return Phase(g.phase.Load()) }

// Advance raises the phase to at least ph and tells every Processor.
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
	for _, p := range g.members {
		p.ex.RequestPreempt()
		p.ep.Ring()
	}
	g.advanceOutside(g.Phase())
}

// Discard frees the fds of a group of which no Processor was started.
func (g *Group) Discard() {
	for _, p := range g.members {
		p.Discard()
	}
}

// Wait waits until the members and the monitor have ended. To be called after
// Advance to Stopped.
func (g *Group) Wait() {
	for _, p := range g.members {
		<-p.ended
	}
	if g.monitor != nil {
		close(g.monitor.quit)
		<-g.monitor.ended
	}
}

// Active reports whether any coroutine of the group lives or is on its way.
func (g *Group) Active() bool { return g.active.Load() != 0 }

// Quiet returns a channel that is closed when the group is, or next becomes, quiet. It may have become active again by
// the time the receiver looks.
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

func (g *Group) takeToken() { g.active.Add(1) }

func (g *Group) giveToken() {
	if g.active.Add(-1) == 0 {
		g.mu.Lock()
		close(g.quiet)
		g.quiet = make(chan struct{})
		g.mu.Unlock()
	}
}
