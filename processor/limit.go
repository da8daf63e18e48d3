package processor

import (
	"errors"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// ErrTooManyCoroutines refuses the start of a coroutine at the limit.
var ErrTooManyCoroutines = errors.New("netco: too many coroutines, see Options.MaxCoroutines")

// limit bounds the live coroutines of a group. A coroutine has a permit from
// before it is made until its end, see coroutine.Config.Ended.
//
// A start by the program is refused if no permit is left. A start by the
// library itself takes a permit in any case, except for the coroutines of woken
// Watches. Woken Watches wait for a permit, and their Processor is starved
// meanwhile (acquirePermit). For each starved Processor one permit is withheld
// from the program.
type limit struct {
	max     int64         // constant; 0: no limit, and nothing is counted
	live    atomic.Int64  // permits in use
	starved atomic.Int32  // Processors whose woken Watches wait for a permit
	refused atomic.Uint64 // starts that were refused
}

// SetMaxCoroutines limits the coroutines that live or are about to start; 0 is
// no limit. It is called before the group has members.
func (g *Group) SetMaxCoroutines(n int) { g.limit.max = int64(n) }

// Refused returns how many starts of coroutines were refused. Any thread.
func (g *Group) Refused() uint64 { return g.limit.refused.Load() }

// takePermit takes a permit, even beyond the limit.
func (g *Group) takePermit() {
	if g.limit.max != 0 {
		g.limit.live.Add(1)
	}
}

// tryPermit takes a permit if fewer than most are in use.
func (g *Group) tryPermit(most int64) bool {
	for {
		live := g.limit.live.Load()
		if live >= most {
			return false
		}
		if g.limit.live.CompareAndSwap(live, live+1) {
			return true
		}
	}
}

// admit takes a permit for a start by the program, if the limit allows it.
func (g *Group) admit() bool {
	l := &g.limit
	if l.max == 0 || g.tryPermit(l.max-int64(l.starved.Load())) {
		return true
	}
	l.refused.Add(1)
	if g.OnRefused != nil {
		g.OnRefused()
	}
	return false
}

// releasePermit gives a permit back and wakes the Processors that are starved.
// Any thread.
func (g *Group) releasePermit() {
	l := &g.limit
	if l.max == 0 {
		return
	}
	l.live.Add(-1)
	if l.starved.Load() == 0 {
		return
	}
	for _, p := range g.members {
		if p.woken.starved.Load() {
			p.Wake()
		}
	}
}

// releaseUnmade returns the permit if making the coroutine has panicked.
func (g *Group) releaseUnmade(co **coroutine.Coroutine) {
	if *co == nil {
		g.releasePermit()
	}
}

// StartHere implements coroutine.Host.
func (p *Processor) StartHere(s coroutine.Spawn) (coroutine.Handle, error) {
	s.Pinned = true
	return p.group.Go(p, p, &s)
}

// acquirePermit takes a permit for a coroutine of the woken Watches, or leaves
// the Processor starved: then the release of a permit gives it a turn, in which
// it tries again.
//
// On each Processor one coroutine of the Watches may live whatever the limit,
// so that Watches cannot wait for coroutines that wait for them. While the
// group ends, any number of them may live, since all are about to end.
//
// No release is missed: acquirePermit tries once more after it has set starved,
// and releasePermit reads starved after the release.
func (ww *wokenWatches) acquirePermit(p *Processor) bool {
	g := p.group
	ok := ww.tryPermit(g)
	if !ok && !ww.starved.Load() {
		ww.starved.Store(true)
		g.limit.starved.Add(1)
		ok = ww.tryPermit(g)
	}
	if !ok {
		return false
	}
	if ww.starved.Load() {
		ww.starved.Store(false)
		g.limit.starved.Add(-1)
	}
	ww.alive.Add(1)
	return true
}

// tryPermit is one attempt of acquirePermit.
func (ww *wokenWatches) tryPermit(g *Group) bool {
	if ww.alive.Load() == 0 || g.Phase() >= Draining {
		g.takePermit()
		return true
	}
	return g.tryPermit(g.limit.max)
}
