package processor

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// compareAll is the largest group in which every Processor is compared to find
// the least loaded.
const compareAll = 16

// burstStarts is how many waiting starts at one Processor are a burst. A burst
// goes to all Processors: further starts are placed on others (place), and idle
// Processors steal some (share).
const burstStarts = 64

// load returns how many coroutines live here or are submitted here. Placement
// compares loads.
func (p *Processor) load() int {
	return int(p.ex.Stats.Live.Load()) + int(p.sub.waiting.Load())
}

// place returns the least loaded active Processor of the group, or the least
// loaded of all members if a burst of starts waits there. The caller's own
// Processor is preferred unless another has at least two coroutines fewer:
// loads are read without synchronisation, and staying costs no wake of another
// core. Among more than 16 members, four that rotate are compared.
func (g *Group) place(here *Processor) *Processor {
	best := g.least(here, false)
	if best == nil || best.sub.waiting.Load() >= burstStarts {
		best = g.least(here, true)
	}
	return best
}

// least returns the least loaded of all members, or of the active ones; nil if
// none is active.
func (g *Group) least(here *Processor, all bool) (best *Processor) {
	members := g.members
	next, looks := 0, len(members)
	if looks > compareAll {
		looks = 4
		turn := &g.turns
		if here != nil {
			turn = &here.places
		}
		next = int(turn.Add(uint32(looks)) % uint32(len(members)))
	}
	least := 0
	if here != nil && (all || here.active.Load()) {
		best, least = here, here.load()-1
	}
	for ; looks > 0; looks-- {
		p := members[next]
		if next++; next == len(members) {
			next = 0
		}
		if p == best || !all && !p.active.Load() {
			continue
		}
		if l := p.load(); best == nil || l < least {
			best, least = p, l
		}
	}
	return best
}

// closeSubmissions makes submit refuse all later submissions. It returns false,
// and closes nothing, if submissions are waiting or on their way.
func (p *Processor) closeSubmissions() bool {
	p.sub.mu.Lock()
	defer p.sub.mu.Unlock()
	if p.sub.waiting.Load() != 0 || p.sub.coming != 0 {
		return false
	}
	p.sub.closed = true
	return true
}

// fds returns how many fds are registered here or are about to be.
func (p *Processor) fds() int { return p.ep.Registered() + int(p.placed.Load()) }

// Fewest returns the Processor with the fewest fds: of the caller's group, or
// for an ordinary goroutine of all running Processors.
func Fewest() (*Processor, error) {
	here := Current()
	if here == nil {
		return anywhere()
	}
	var best *Processor
	for p := range here.group.actives() {
		if best == nil || p.fds() < best.fds() || p == here && p.fds() == best.fds() {
			best = p
		}
	}
	if best == nil || best.placed.Load() >= burstStarts {
		for _, p := range here.group.members {
			if best == nil || p.fds() < best.fds() {
				best = p
			}
		}
	}
	return best, nil
}

// anywhere returns the running Processor with the fewest fds, and starts the
// default Scheduler if none runs. It is for ordinary goroutines.
func anywhere() (*Processor, error) {
	if clock.InBubble() {
		return nil, coroutine.ErrBubble
	}
	for range 2 {
		if best := leastEnding(); best != nil {
			return best, nil
		}
		if err := coroutine.StartDefault(); err == coroutine.ErrNoScheduler {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return nil, errNotRunning
}

// leastEnding returns the running Processor with the fewest fds among those
// whose group is furthest from its end, or nil if none runs. A coroutine may
// keep a Processor of a group that has stopped for good.
func leastEnding() (best *Processor) {
	running.mu.Lock()
	defer running.mu.Unlock()
	least := Stopped
	for _, p := range running.list {
		ph := p.group.Phase()
		if best == nil || ph < least || ph == least && p.fds() < best.fds() {
			best, least = p, ph
		}
	}
	return best
}
