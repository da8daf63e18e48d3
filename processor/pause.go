package processor

import "sync/atomic"

// pauseState lets a watcher of a group, the monitor or the watchdog, sleep
// while the whole group does. The watcher sets pausing before it checks whether
// all members are asleep; a member that wakes notes that it is awake before it
// reads pausing. So one of the two sees the other's write.
type pauseState struct {
	pausing atomic.Bool   // the watcher is to be resumed; the watcher writes it
	resumed chan struct{} // buffers one value
}

func newPauseState() pauseState { return pauseState{resumed: make(chan struct{}, 1)} }

// begin reports whether all members are asleep. If so, until end, each member
// that wakes sends to resumed.
func (ps *pauseState) begin(g *Group) bool {
	ps.pausing.Store(true)
	if g.idle() {
		return true
	}
	ps.end()
	return false
}

func (ps *pauseState) end() {
	ps.pausing.Store(false)
	select {
	case <-ps.resumed:
	default: // a member may be about to send: then the next pause is short
	}
}

// BeginPause reports whether all members are asleep. If so, until EndPause, a
// member that wakes sends to Resumed. For the watchdog only.
func (g *Group) BeginPause() bool { return g.watchdogPause.begin(g) }

// EndPause ends the pause that BeginPause began.
func (g *Group) EndPause() { g.watchdogPause.end() }

// Resumed receives when a member has woken after BeginPause.
func (g *Group) Resumed() <-chan struct{} { return g.watchdogPause.resumed }

// resumeWatchers resumes paused watchers, because a member is awake. If neither
// watcher pauses it costs two atomic loads.
func (g *Group) resumeWatchers() {
	g.watchdogPause.resume()
	g.monitorPause.resume()
}

func (ps *pauseState) resume() {
	if ps.pausing.Load() {
		select {
		case ps.resumed <- struct{}{}:
		default:
		}
	}
}
