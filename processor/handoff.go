package processor

import (
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
)

// monitor hands Processors on: where it finds one whose coroutine was blocked
// outside netco at two looks, in one run, it runs that Processor's loop on in its
// own place (coroutine.Left). So each monitor goroutine that does that is followed by
// another, and ends when the coroutine has rejoined.
//
// It looks every lookEvery, every lookOften for a while after it has handed one
// on, and not at all while all Processors have been asleep for monitorFor.
type monitor struct {
	group *Group
	quit  chan struct{} // closed when the members have ended
	ended chan struct{} // closed by the last monitor goroutine
	last  []coroutine.Left
	balancer
	often time.Time // until when to look often
	awake time.Time // when a Processor was last seen awake
}

const (
	lookEvery  = 4 * time.Millisecond
	lookOften  = 400 * time.Microsecond
	oftenFor   = 100 * time.Millisecond
	monitorFor = 50 * time.Millisecond // how long it looks on while all are asleep
)

// StartMonitor makes the group's Processors, which are not locked to threads, go
// on when a coroutine blocks outside netco. Where that cannot be had it warns and says why.
// To be called once, when the members have started.
func (g *Group) StartMonitor(log *zap.Logger) {
	m := &monitor{group: g, quit: make(chan struct{}), ended: make(chan struct{}), last: make([]coroutine.Left, len(g.members))}
	g.monitor = m
	why := coroutine.CanLeave()
	if why == nil {
		why = sysx.EnableBarriers()
	}
	if why != nil {
		log.Warn("a coroutine that blocks outside netco holds up its processor", zap.Error(why))
		for _, p := range g.members {
			p.active.Store(true)
		}
		close(m.ended)
		return
	}
	go m.run(nil)
}

// run looks until the group has stopped, or until it has handed a Processor on.
// First it tells of the coroutine that the monitor goroutine before it has left
// behind, if any: here neither that one's loop nor the coroutine waits for it.
func (m *monitor) run(left *coroutine.LeftBehind) {
	if left != nil && m.group.OnHandoff != nil {
		m.group.OnHandoff(left)
	}
	m.awake = time.Now()
	timer := time.NewTimer(m.pause(m.awake))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-m.quit:
			close(m.ended)
			return
		}
		now := time.Now()
		for i, p := range m.group.members {
			left := p.ex.Blocked()
			before := m.last[i]
			m.last[i] = left
			if left == (coroutine.Left{}) || left != before {
				continue
			}
			m.last[i] = coroutine.Left{}
			m.often = now.Add(oftenFor)
			if left.Leave(sysx.Barrier, m.succeed) {
				return // another has taken over
			}
		}
		m.group.balance(&m.balancer, now)
		if !m.group.idle() {
			m.awake = now
		} else if now.Sub(m.awake) > monitorFor && !m.doze() {
			close(m.ended)
			return
		}
		timer.Reset(m.pause(now))
	}
}

// pause returns when to look next.
func (m *monitor) pause(now time.Time) time.Duration {
	if now.Before(m.often) {
		return lookOften
	}
	return lookEvery
}

// succeed starts the next monitor goroutine, as this one is about to run a
// Processor's loop.
func (m *monitor) succeed(left *coroutine.LeftBehind) { go m.run(left) }

// doze sleeps until a Processor wakes; false means that the group has stopped.
func (m *monitor) doze() bool {
	d := &m.group.dozing
	if !d.begin(m.group) {
		return true
	}
	defer d.end()
	select {
	case <-d.roused:
		m.awake = time.Now()
		return true
	case <-m.quit:
		return false
	}
}

// idle reports whether all members are asleep.
func (g *Group) idle() bool {
	for _, p := range g.members {
		if p.time.slept.Load()&1 == 0 {
			return false
		}
	}
	return true
}
