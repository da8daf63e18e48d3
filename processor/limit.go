package processor

import (
	"errors"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// ErrTooManyCoroutines is returned where a coroutine was to be started and as many live as may.
var ErrTooManyCoroutines = errors.New("netco: too many coroutines, see Options.MaxCoroutines")

// limit bounds how many coroutines of a group live or are on their way.
//
// Who starts one takes a place first, by adding 1 to started; it is given back by the coroutine's end, which its Processor counts
// anyway (coroutine.Stats.Ended). So one lives, or is on its way, for each of started - Ended, and nothing is added to a coroutine's end.
// To add up all that have ended is left for when the last sum, ended, does not do: that was not too large, and can only have risen.
//
// The bound is never passed by those that it holds for: the last to have taken a place counted all others, and of those that have ended
// none that had not been counted. One that is refused gives its place back, and may meanwhile have another refused that
// would have had room.
//
// What the library starts by itself takes a place and is never refused; only Watches that are woken wait (wokenWatches).
type limit struct {
	max     int64         // constant; 0 is none, and then nothing is counted
	started atomic.Int64  // places that were taken and not given back unused
	ended   atomic.Int64  // coroutines that have ended, added up some time ago
	short   atomic.Int32  // Processors on which woken Watches wait for room: who starts coroutines leaves a place for each
	refused atomic.Uint64 // starts
}

// SetMaxCoroutines sets how many coroutines may live or be on their way, 0 for any number. To be called before the group has members.
func (g *Group) SetMaxCoroutines(n int) { g.limit.max = int64(n) }

// MaxCoroutines returns what SetMaxCoroutines has set.
func (g *Group) MaxCoroutines() int { return int(g.limit.max) }

// Refused returns how many starts of coroutines were refused. Any thread.
func (g *Group) Refused() uint64 { return g.limit.refused.Load() }

// take takes a place without asking whether there is one.
func (g *Group) take() {
	if g.limit.max != 0 {
		g.limit.started.Add(1)
	}
}

// untake gives back the place of a coroutine that will not be.
func (g *Group) untake() {
	if l := &g.limit; l.max != 0 {
		l.started.Add(-1)
		if l.short.Load() != 0 {
			g.tellShort(nil) // a Watch may have wanted it meanwhile, and no end will tell it
		}
	}
}

// untakeWithout is untake if no coroutine has been made, as making it has
// panicked.
func (g *Group) untakeWithout(co **coroutine.Coroutine) {
	if *co == nil {
		g.untake()
	}
}

// admit takes a place if there is one.
func (g *Group) admit() bool {
	l := &g.limit
	if l.max == 0 {
		return true
	}
	if started := l.started.Add(1); g.fits(started, l.max-int64(l.short.Load())) {
		return true
	}
	l.refused.Add(1)
	g.untake()
	return false
}

// fits reports whether no more than most live or are on their way, of started that have taken a place, the caller among them.
func (g *Group) fits(started, most int64) bool {
	return started-g.limit.ended.Load() <= most || started-g.sumEnded() <= most
}

// sumEnded adds up how many coroutines have ended.
func (g *Group) sumEnded() int64 {
	n := int64(0)
	for _, p := range g.members {
		n += int64(p.ex.Stats.Ended.Load())
	}
	for {
		before := g.limit.ended.Load()
		if n <= before || g.limit.ended.CompareAndSwap(before, n) {
			return n
		}
	}
}

// SpawnLimited is Spawn for what the limit holds for. Owner only.
func (p *Processor) SpawnLimited(fn func(), name string, site uintptr) (h coroutine.Handle, err error) {
	if !p.group.admit() {
		return h, ErrTooManyCoroutines
	}
	return p.spawn(fn, name, site), nil
}

// SubmitLimited is Submit for what the limit holds for. It returns ErrShutdown if the Processor has ended.
func (p *Processor) SubmitLimited(self *Processor, fn func(), name string, site uintptr, pinned bool) (h coroutine.Handle, err error) {
	if !p.group.admit() {
		return h, ErrTooManyCoroutines
	}
	if h = p.submit(self, fn, name, site, pinned); h == (coroutine.Handle{}) {
		return h, coroutine.ErrShutdown
	}
	return h, nil
}

// StartHere implements coroutine.Starter.
func (p *Processor) StartHere(fn func(), name string, site uintptr) (coroutine.Handle, error) {
	return p.SpawnLimited(fn, name, site)
}
