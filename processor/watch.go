package processor

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/timer"
)

// Watch waits for an fd to become readable and then starts a coroutine. The
// wait itself needs no coroutine, goroutine or stack, so thousands of idle
// connections take a few hundred bytes each.
//
//	idle    it does not wait; its owner may Arm it
//	armed   its waiter is in the PollDesc, and keeps its Processor's token
//	woken   its waiter was taken out by the end of the wait; it is queued
//	        for a coroutine of the home
//
//	idle → armed    Arm, by a coroutine of the home
//	armed → woken   an event, the deadline, SetDeadline, Evict, the beginning
//	                of draining: any thread
//	woken → idle    on the home, before the Watcher is called
//
// As in other waits, a wake means "try again": the Watcher checks the fd, and
// arms the Watch again if need be.
type Watch struct {
	w     coroutine.Waiter // published while armed
	pd    *PollDesc        // constant
	owner Watcher          // constant
	home  *Processor       // constant while armed
	fd    int              // owner: home; Arm's argument
	t     *timer.Timer     // owner: home; nil unless armed under a deadline

	placed bool // owner: Begin's caller, then home; home.placed counts it
	shared bool // constant while armed: any member of home's domain may take it, see share.go
}

// Watcher is called at the end of a wait.
type Watcher interface {
	// Readable is called by a coroutine of the home. It may park.
	Readable()
}

// Init prepares a Watch of pd's fd.
func (wa *Watch) Init(pd *PollDesc, owner Watcher) {
	wa.pd, wa.owner = pd, owner
	wa.w.SetHook(wa)
}

// own is coroutine.Own for a caller that holds wa. For the race detector it
// also orders the caller's earlier accesses to wa before the later ones.
//
//go:norace
func (wa *Watch) own() func() {
	goruntime.RaceReleaseMerge(wa.addr())
	end := coroutine.Own()
	goruntime.RaceAcquire(wa.addr())
	return end
}

// Arm begins to wait for fd at the caller's Processor, and registers fd there
// if need be. It may move the caller, as a wait for an fd does. It returns
// false if an edge has come, or Check does not return Try. After true the
// Watcher may be called at any time, on another Processor if fds are shared:
// from then on the caller touches only fields that any thread may touch. The
// error is from registering the fd.
//
// Preconditions: the caller is a coroutine, and owns the reading direction.
func (wa *Watch) Arm(fd int) (bool, error) {
	pd := wa.pd
	if to := pd.to.Load(); to != nil {
		pd.follow(fd, to)
	}
	p := Current()
	shared, err := pd.register(fd, p, coroutine.Current())
	if home := pd.home.Load(); err == nil && !shared && home != nil &&
		(home != p || pd.shared.Load() != nil) {
		err = pd.move(fd, p) // the caller has moved with another fd
	}
	if err != nil || !shared && pd.home.Load() != p {
		return false, err
	}
	if goruntime.RaceEnabled {
		defer wa.own()()
	}
	wa.home, wa.fd = p, fd
	if shared {
		return wa.publishShared(p), nil
	}
	return wa.publish(p), nil
}

// publish arms the Watch at p, its fd's home. Owner of p.
func (wa *Watch) publish(p *Processor) bool {
	pd, g := wa.pd, &wa.pd.read
	if !g.w.CompareAndSwap(nil, &wa.w) {
		return false // an edge; or a second waiter, a mistake of the caller, which panics in Wait
	}
	p.watches.Inc()
	if (pd.Check(Read) != Try || p.group.Phase() >= Draining) && g.w.CompareAndSwap(&wa.w, nil) {
		p.watches.Set(p.watches.Own() - 1)
		return false
	}
	wa.arm(p)
	return true
}

// arm sets the timer for the deadline, if any. Owner of p.
func (wa *Watch) arm(p *Processor) {
	if d := wa.pd.read.deadline.Load(); d != 0 {
		wa.t = p.setTimer(watchExpired, wa, d)
	}
}

// publishShared is publish of a Watch that any member of p's domain may take,
// as soon as it is published. Owner of p.
func (wa *Watch) publishShared(p *Processor) bool {
	pd, g := wa.pd, &wa.pd.read
	wa.shared = true
	p.beginShared(&p.shared.watches)
	wa.arm(p)
	if g.w.CompareAndSwap(nil, &wa.w) && (pd.Check(Read) == Try && p.MayShare() ||
		!g.w.CompareAndSwap(&wa.w, nil)) {
		return true
	}
	wa.shared = false
	wa.disarm(p)
	p.endShared(p, &p.shared.watches)
	return false
}

// watchExpired is the function of the timers of Watches.
func watchExpired(arg any, _ int64) {
	x := arg.(*Watch)
	if x.pd.read.w.CompareAndSwap(&x.w, nil) {
		x.Woken()
	}
}

// Woken implements coroutine.Hook.
func (wa *Watch) Woken() {
	if goruntime.RaceEnabled {
		defer wa.own()()
	}
	p := wa.home
	if wa.shared {
		wa.take(p)
		return
	}
	if p.ex.OnThread() {
		p.woken.add(p, wa)
		return
	}
	p.sendWatch(arrival{x: wa}) // cannot fail: p does not end while wa is armed
}

// take makes the waker's Processor serve a Watch that was armed shared at from,
// or from itself if the waker is not of its group.
func (wa *Watch) take(from *Processor) {
	wa.shared = false
	p := processorOf(coroutine.DrivenBy())
	if p == nil || p.group != from.group {
		from.sendWatch(arrival{x: wa, shared: true})
		return
	}
	if wa.t != nil && p != from {
		from.returnTimer(wa.t)
		wa.t = nil
	}
	wa.home = p
	p.watches.Inc()
	p.endShared(from, &from.shared.watches)
	p.woken.add(p, wa)
}

// maxStarters is how many coroutines for woken Watches may wait in the run
// queue.
const maxStarters = 64

// wokenWatches holds the woken Watches of a Processor, which wait for a
// coroutine, FIFO. All fields: owner, unless their comment says otherwise.
//
// Each woken Watch needs a coroutine, but thousands may be woken at once. So
// only maxStarters coroutines are queued at a time, which bounds how long other
// coroutines wait behind them. Each takes the oldest Watch, and queues another
// coroutine if need be before it serves the Watch.
//
//	starters ≤ min(n, maxStarters)
//
// At the group's limit Watches wait for a permit, see acquirePermit.
type wokenWatches struct {
	first, last *coroutine.Waiter // through Waiter.Link
	n           int
	starters    int // coroutines for the Watches that are queued and have not begun
	start       func()

	// Under a limit: coroutines for the Watches that are queued, or have begun
	// and not ended. Any thread lowers it.
	alive   atomic.Int32
	starved atomic.Bool // the Watches wait for a permit; any thread reads it
}

// add queues a Watch that has just been woken.
func (ww *wokenWatches) add(p *Processor, x *Watch) {
	x.w.Link = nil
	if ww.last == nil {
		ww.first = &x.w
	} else {
		ww.last.Link = &x.w
	}
	ww.last = &x.w
	ww.n++
	ww.want(p)
}

// want starts a coroutine if too few are queued. Its caller may be a coroutine
// that polls, or that closes the fd.
func (ww *wokenWatches) want(p *Processor) {
	if ww.starters < min(ww.n, maxStarters) && (p.group.limit.max == 0 || ww.acquirePermit(p)) {
		ww.starters++
		p.ex.Spawn(coroutine.DetachedSpawn(ww.start)) // a name would be an allocation each time
	}
}

// startWoken is the function of the coroutines that serve woken Watches.
func (p *Processor) startWoken() {
	if p.group.limit.max != 0 {
		defer p.woken.alive.Add(-1) // before the permit is released, at the coroutine's end
	}
	x := p.takeWoken()
	goruntime.RaceAcquire(x.addr())
	x.owner.Readable()
}

// takeWoken takes the oldest Watch out of the queue, and makes it idle. Owner.
func (p *Processor) takeWoken() *Watch {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	q := &p.woken
	w := q.first
	if q.first = w.Link; q.first == nil {
		q.last = nil
	}
	w.Link = nil
	q.n--
	q.starters--
	q.want(p)
	q.prefetch()
	x := w.Hook().(*Watch)
	p.watches.Set(p.watches.Own() - 1)
	x.disarm(p)
	return x
}

// disarm releases the timer. Owner of the home.
func (wa *Watch) disarm(p *Processor) {
	if wa.t != nil {
		p.dropTimer(wa.t)
		wa.t = nil
	}
}

// arrival is a Watch that another thread sends to the Watch's home, because it
// is woken or new (see Begin).
type arrival struct {
	x      *Watch
	new    bool // the arrival carries one of the group's tokens
	shared bool // the Watch was armed shared, here
}

// Begin calls the Watcher in a coroutine of p, as if the Watch had been armed
// there and woken. It gives a connection its first coroutine. At the group's
// limit the coroutine waits for a permit. self is the caller's Processor, or
// nil. False means that p has ended. Any thread.
func (wa *Watch) Begin(self, p *Processor) bool {
	if goruntime.RaceEnabled {
		defer wa.own()()
	}
	wa.home = p
	if wa.pd.home.Load() == nil {
		wa.placed = true
		p.placed.Add(1)
	}
	if self == p {
		p.hold() // nothing may live here yet, if the caller is the loop
		p.watches.Inc()
		p.woken.add(p, wa)
		return true
	}
	p.group.takeToken()
	if !p.sendWatch(arrival{x: wa, new: true}) {
		p.group.giveToken()
		wa.unplace()
		return false
	}
	return true
}

// Bind registers fd with the caller's Processor, the home, if it has none. The
// coroutine that Begin has started calls it first, so that placement counts the
// fd at the right Processor. The error is from registering the fd.
func (wa *Watch) Bind(fd int) (err error) {
	if wa.pd.home.Load() == nil {
		err = wa.pd.bind(fd)
	}
	wa.unplace()
	return err
}

// unplace notes that the fd has arrived, or will not arrive.
func (wa *Watch) unplace() {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	if wa.placed {
		wa.placed = false
		wa.home.placed.Add(-1)
	}
}

// sendWatch queues a Watch at its home; false means that the home has ended.
// Any thread.
func (p *Processor) sendWatch(a arrival) bool {
	p.sub.mu.Lock()
	if p.sub.closed {
		p.sub.mu.Unlock()
		return false
	}
	p.sub.watches = append(p.sub.watches, a)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	p.ex.RequestPreempt()
	p.ep.Ring()
	return true
}

// arrive adopts a Watch that sendWatch has sent. Owner.
func (p *Processor) arrive(a arrival) {
	switch {
	case a.new:
		p.watches.Inc()
		p.takeOverToken()
	case a.shared:
		p.watches.Inc()
		p.endShared(p, &p.shared.watches)
	}
	p.woken.add(p, a.x)
}

// takeOverToken gives the token of an arrival to the Processor. Owner.
func (p *Processor) takeOverToken() {
	if p.holding {
		p.group.giveToken()
	}
	p.holding = true
}
