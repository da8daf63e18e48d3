package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// Turn is what a Processor is in the middle of, as another thread sees it.
type Turn struct {
	Number    uint64 // of the turn; 0: its loop has not begun
	Start     int64  // CLOCK_MONOTONIC, ns; after a sleep, the end of that
	Asleep    bool   // blocked in epoll, whatever Number and Start say
	Coroutine *coroutine.Coroutine
}

// Turn returns what the Processor is in the middle of, from any thread. Its parts are read one by one, and may be of two turns that follow
// each other: who wants to be sure looks twice, some time apart.
func (p *Processor) Turn() Turn {
	if p.time.slept.Load()&1 != 0 { // the owner's own word: a ringer clears epoller's before the owner is awake
		return Turn{Asleep: true, Number: p.Stats.Turns.Load()}
	}
	return Turn{
		Number:    p.Stats.Turns.Load(),
		Coroutine: p.ex.Current(),
		Start:     int64(p.Stats.TurnStart.Load()),
	}
}

// doze is how who watches a group from outside sleeps while the whole group does.
//
//	dozing  means                        becomes
//	false   the watcher looks by itself  true, by the watcher, which then looks whether all members are asleep
//	true    it is to be roused           false, by the first member that wakes, after it has said that it is awake; or by the watcher
//
// Both write their own word before they read the other's, so one of the two sees the other.
type doze struct {
	dozing atomic.Bool
	roused chan struct{} // has room for one
}

func newDoze() doze { return doze{roused: make(chan struct{}, 1)} }

// begin reports whether all members are asleep. If so, the first that wakes sends
// to roused, until end.
func (d *doze) begin(g *Group) bool {
	d.dozing.Store(true)
	for _, p := range g.members {
		// In this order. A member on the way to its sleep has set the first and not
		// the second; one that has left it, and not said so in the second yet, has
		// cleared the first.
		if !p.ep.Sleeping() || p.time.slept.Load()&1 == 0 {
			d.end()
			return false
		}
	}
	return true
}

func (d *doze) end() {
	if !d.dozing.Swap(false) {
		select {
		case <-d.roused:
		default: // a member is about to send: the watcher will look once more for nothing
		}
	}
}

// BeginPause reports whether all members are asleep. If so, the first that
// wakes sends to Resumed, until EndPause. For the watchdog only.
func (g *Group) BeginPause() bool { return g.watchdog.begin(g) }

// EndPause ends what BeginPause began.
func (g *Group) EndPause() { g.watchdog.end() }

// Resumed receives when a member has woken after BeginPause.
func (g *Group) Resumed() <-chan struct{} { return g.watchdog.roused }

// rouse wakes the watchers that doze: a member is awake. Two atomic loads unless
// one does.
func (g *Group) rouse() {
	if g.watchdog.dozing.Load() {
		g.watchdog.wake()
	}
	if g.dozing.dozing.Load() {
		g.dozing.wake()
	}
}

func (d *doze) wake() {
	if d.dozing.CompareAndSwap(true, false) {
		select {
		case d.roused <- struct{}{}:
		default:
		}
	}
}
