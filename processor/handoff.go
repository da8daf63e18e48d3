package processor

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
)

// monitor hands Processors on. If a Processor's coroutine is blocked outside
// netco, and stays blocked, the monitor makes another goroutine run that
// Processor's loop (coroutine.Executor.Rescue).
//
// It checks every checkEvery; every checkOften for a while after it has handed
// a Processor on; and not at all once all Processors have been asleep for
// monitorFor. Every check wakes a thread, so more checks would cost an idle
// machine CPU time; fewer would make other coroutines wait longer. Code that is
// known to block does not wait for it, see coroutine.Executor.SetStandby.
type monitor struct {
	group *Group
	quit  chan struct{} // closed when the members have ended
	ended chan struct{} // closed by the monitor
	balancer
	handed atomic.Bool // a Processor was handed on since the last check; any thread
	often  time.Time   // when to stop checking often
	awake  time.Time   // when a Processor was last seen awake
}

const (
	checkEvery = 8 * time.Millisecond
	checkOften = 400 * time.Microsecond
	oftenFor   = 100 * time.Millisecond
	monitorFor = 50 * time.Millisecond // how long it goes on checking while all are asleep
)

// StartMonitor makes the group's Processors go on when a coroutine blocks
// outside netco. Precondition: they are not locked to threads. Where handoff is
// not possible it logs why. It is called once, when the members have started.
func (g *Group) StartMonitor(log *zap.Logger) {
	m := &monitor{group: g, quit: make(chan struct{}), ended: make(chan struct{})}
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
	for _, p := range g.members {
		p.ex.SetStandby(coroutine.Standby{Barrier: sysx.Barrier, OnLeft: g.OnHandoff})
	}
	g.balanced.Store(true)
	go m.run()
}

// run checks until the group has stopped.
func (m *monitor) run() {
	defer close(m.ended)
	m.awake = time.Now()
	timer := time.NewTimer(m.interval(m.awake))
	defer timer.Stop()
	handedOn := func() { m.handed.Store(true) }
	for {
		select {
		case <-timer.C:
		case <-m.quit:
			return
		}
		now := time.Now()
		if m.handed.Swap(false) {
			m.often = now.Add(oftenFor)
		}
		for _, p := range m.group.members {
			p.ex.Rescue(handedOn)
		}
		m.group.balance(&m.balancer, now)
		if !m.group.idle() {
			m.awake = now
		} else if now.Sub(m.awake) > monitorFor && !m.pauseUntilWake() {
			return
		}
		timer.Reset(m.interval(now))
	}
}

// interval returns how long to wait before the next check.
func (m *monitor) interval(now time.Time) time.Duration {
	if now.Before(m.often) {
		return checkOften
	}
	return checkEvery
}

// pauseUntilWake sleeps until a Processor wakes; false means that the group has
// stopped.
func (m *monitor) pauseUntilWake() bool {
	d := &m.group.monitorPause
	if !d.begin(m.group) {
		return true
	}
	defer d.end()
	select {
	case <-d.resumed:
		m.awake = time.Now()
		return true
	case <-m.quit:
		return false
	}
}

// idle reports whether all members are asleep.
func (g *Group) idle() bool {
	for _, p := range g.members {
		if !p.time.sleeping() {
			return false
		}
	}
	return true
}
