package processor

import "sync/atomic"

// pauseState lets a watcher of a group, the monitor or the watchdog, sleep
// while the whole group does.
//
//	pausing  means                  becomes
//	false    the watcher checks     true, by the watcher, which then checks
//	         now and then           whether all members are asleep
//	true     the watcher waits to   false, by the first member that wakes, after
//	         be resumed             it has published that it is awake; or by the
//	                                watcher
//
// Both write their own word before they read the other's, so at least one of
// the two sees the other's write.
type pauseState struct {
	pausing atomic.Bool
	resumed chan struct{} // buffers one value
}

func newPauseState() pauseState { return pauseState{resumed: make(chan struct{}, 1)} }

// begin reports whether all members are asleep. If so, until end, the first
// member that wakes sends to resumed.
func (ps *pauseState) begin(g *Group) bool {
	ps.pausing.Store(true)
	for _, p := range g.members {
		// In this order: a member that is about to sleep sets ep before time,
		// and a member that wakes clears ep before time.
		if !p.ep.Sleeping() || !p.time.sleeping() {
			ps.end()
			return false
		}
	}
	return true
}

func (ps *pauseState) end() {
	if !ps.pausing.Swap(false) {
		select {
		case <-ps.resumed:
		default: // a member is about to send: the watcher then checks once in vain
		}
	}
}

// BeginPause reports whether all members are asleep. If so, until EndPause, the
// first member that wakes sends to Resumed. For the watchdog only.
func (g *Group) BeginPause() bool { return g.watchdogPause.begin(g) }

// EndPause ends the pause that BeginPause began.
func (g *Group) EndPause() { g.watchdogPause.end() }

// Resumed receives when a member has woken after BeginPause.
func (g *Group) Resumed() <-chan struct{} { return g.watchdogPause.resumed }

// resumeWatchers resumes paused watchers, because a member is awake. If neither
// watcher pauses it costs two atomic loads.
func (g *Group) resumeWatchers() {
	if g.watchdogPause.pausing.Load() {
		g.watchdogPause.resume()
	}
	if g.monitorPause.pausing.Load() {
		g.monitorPause.resume()
	}
}

func (ps *pauseState) resume() {
	if ps.pausing.CompareAndSwap(true, false) {
		select {
		case ps.resumed <- struct{}{}:
		default:
		}
	}
}
