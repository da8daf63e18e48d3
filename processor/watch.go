package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/timer"
)

// Watch waits for an fd to become readable and then starts a coroutine, so that
// the wait itself holds none: no stack, no goroutine. It is how thousands of
// connections are idle in a few hundred bytes each.
//
//	idle    nothing waits; its owner may Arm it
//	armed   its waiter is in the PollDesc, and keeps its Processor's token
//	woken   its waiter was taken out, by whatever ends a wait; it is queued for a
//	        coroutine of the home
//
//	idle → armed    Arm, by a coroutine of the home
//	armed → woken   an event, the deadline, SetDeadline, Evict, the beginning of draining: any thread
//	woken → idle    on the home, before the Watcher is called
//	armed → armed   at another home, see moveTo
//
// As with other waits a wake means "look again": the Watcher checks what it
// waits for, and arms the Watch again if need be.
type Watch struct {
	w     coroutine.Waiter // published while armed
	pd    *PollDesc        // constant
	owner Watcher          // constant
	home  *Processor       // constant while armed, but for moveTo; the new home writes
	fd    int              // owner: home; as Arm was given it
	t     *timer.Timer     // owner: home; while armed under a deadline

	placed bool // by Begin's caller, then owner: home; home.placed counts it
}

// Watcher is called at the end of a wait.
type Watcher interface {
	// Readable is called by a coroutine of the home. It may park.
	Readable()
}

// Init prepares the Watch.
func (x *Watch) Init(pd *PollDesc, owner Watcher) {
	x.pd, x.owner = pd, owner
	x.w.SetHook(x)
}

// Arm begins to wait for fd, at the caller's Processor, with which it is
// registered if it is with none or with another. It returns false if there is
// something to look at first: an edge, or what Check tells. After true the
// Watcher may be called at any time, on another Processor if the Watch moves: the
// caller leaves to it what is not for any thread. The error is that of
// registering.
//
// Preconditions: the caller is a coroutine, and owns the reading direction.
func (x *Watch) Arm(fd int) (bool, error) {
	pd, p := x.pd, Here()
	var err error
	switch pd.home.Load() {
	case p:
	case nil:
		err = pd.bind(fd)
	default:
		err = pd.move(fd, p) // the caller has moved, for another fd
	}
	if err != nil || pd.home.Load() != p {
		return false, err
	}
	x.home, x.fd = p, fd
	if !x.publish(p, nil) {
		return false, nil
	}
	if to := pd.to.Load(); to != nil {
		x.follow(p, to)
	}
	return true, nil
}

// publish makes the Watch armed at p, its fd's home, if the reading direction's
// word is old. Owner of p.
func (x *Watch) publish(p *Processor, old *coroutine.Waiter) bool {
	pd, g := x.pd, &x.pd.read
	if !g.w.CompareAndSwap(old, &x.w) {
		return false // an edge; two waiters are the caller's error and fail in Wait
	}
	p.watches.Inc()
	if (pd.Check(Read) != Ready || p.group.Phase() >= Draining) && g.w.CompareAndSwap(&x.w, nil) {
		p.watches.Set(p.watches.Own() - 1)
		return false
	}
	if d := g.deadline.Load(); d != 0 {
		x.t = p.sleepers.Get()
		x.t.F, x.t.Arg = watchExpired, x
		p.timers.Set(x.t, d)
	}
	return true
}

// watchExpired is the function of the timers of Watches.
func watchExpired(arg any, _ int64) {
	x := arg.(*Watch)
	if x.pd.read.w.CompareAndSwap(&x.w, nil) {
		x.Woken()
	}
}

// Woken implements coroutine.Hook.
func (x *Watch) Woken() {
	p := x.home
	if p.ex.OnThread() {
		p.woken.add(p, x)
		return
	}
	p.sendWatch(arrival{x: x}) // which cannot be too late: p lives as long as x is armed
}

// maxStarters is how many coroutines may be on their way to begin with a Watch.
const maxStarters = 64

// wokenWatches are the Watches of a Processor that wait for a coroutine, FIFO.
// Owner.
//
// Each that is woken wants a coroutine, but thousands may be woken at once:
// only as many are made as others are to be kept waiting by in one round of the
// run queue. Each takes the oldest, and makes its successor before it begins.
//
//	starters ≤ min(n, maxStarters)
//
// At the group's limit they wait for a permit, see acquirePermit.
type wokenWatches struct {
	first, last *coroutine.Waiter // through Waiter.Link
	n           int
	starters    int // coroutines that have been made to take one and have not begun
	start       func()

	alive   atomic.Int32 // under a limit: coroutines that have begun with one and not ended, and starters; any thread lowers it
	starved atomic.Bool  // they wait for a permit; any thread reads it
}

func (q *wokenWatches) add(p *Processor, x *Watch) {
	x.w.Link = nil
	if q.last == nil {
		q.first = &x.w
	} else {
		q.last.Link = &x.w
	}
	q.last = &x.w
	q.n++
	q.want(p)
}

// want makes a coroutine if there are too few.
func (q *wokenWatches) want(p *Processor) {
	if q.starters < min(q.n, maxStarters) && (p.group.limit.max == 0 || q.acquirePermit(p)) {
		q.starters++
		p.ex.Spawn(coroutine.Spec{Fn: q.start}) // without a name: that would be an allocation for each request
	}
}

// startWoken is what the coroutines run.
func (p *Processor) startWoken() {
	q := &p.woken
	if p.group.limit.max != 0 {
		defer q.alive.Add(-1) // before the permit is released, at the coroutine's end
	}
	w := q.first
	if q.first = w.Link; q.first == nil {
		q.last = nil
	}
	w.Link = nil
	q.n--
	q.starters--
	q.want(p)
	q.prefetch()
	w.Hook().(*Watch).start()
}

// start is what a woken Watch does on its coroutine.
func (x *Watch) start() {
	p := x.home
	p.watches.Set(p.watches.Own() - 1)
	x.disarm(p)
	x.owner.Readable()
}

// disarm gives the timer back. Owner of the home.
func (x *Watch) disarm(p *Processor) {
	if x.t != nil {
		p.timers.Cancel(x.t)
		x.t.Arg = nil
		p.sleepers.Put(x.t)
		x.t = nil
	}
}

// watched reports whether a Watch is armed, or on its way to be.
func (pd *PollDesc) watched() bool {
	w := pd.read.w.Load()
	if w == nil || w == readyW {
		return false
	}
	_, ok := w.Hook().(*Watch) // else an aloneWait
	return ok || w == inTransit
}

// Home returns the Processor with which the fd is registered, or nil.
func (pd *PollDesc) Home() *Processor { return pd.home.Load() }

// fds is how many fds it has, with those that are on their way.
func (p *Processor) fds() int { return p.ep.Registered() + int(p.placed.Load()) }

// Fewest returns the Processor with the fewest fds: of the caller's group, or
// of all that run if the caller is on none.
func Fewest() (*Processor, error) {
	here := Here()
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
