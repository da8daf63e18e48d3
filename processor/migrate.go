package processor

import (
	"math"

	"github.com/netco-go/netco/coroutine"
)

// Two kinds of work move from one Processor to another.
//
// Ready coroutines move as they come out of a wait, see coroutine.MoveOn: up to
// half of those in the run queue, or on an inactive Processor all of them
// (lending).
//
// Connections move with what waits for them: a coroutine, which moves itself
// when it comes out of its wait (PollDesc.follow), or a Watch (Watch.moveTo).
// The fd is registered with the new Processor before it is taken out of the old
// one's epoll, so no event is lost: adding an fd reports what it is ready for.
// An event that both report is a spurious wake.
//
// Only what waits to read moves. A coroutine that waits to write to the same fd
// stays, and is woken by the Processor that the fd is registered with.
//
// Both move within their group only. A reader of another group than the fd's
// Processor stays, and so does the fd.

// Reserve implements coroutine.Traveller. It takes a token for what will
// arrive.
//
// All that moves comes by here, and so nothing leaves its group: the group's
// count of what lives, its limit and its end are about those that it started.
func (p *Processor) Reserve(from coroutine.Host) bool {
	if q, ok := from.(*Processor); !ok || q.group != p.group {
		panic("netco/processor: a move to another group")
	}
	p.sub.mu.Lock()
	defer p.sub.mu.Unlock()
	if p.sub.closed {
		return false
	}
	p.sub.coming++
	p.group.takeToken()
	return true
}

// unreserve undoes Reserve.
func (p *Processor) unreserve() {
	p.sub.mu.Lock()
	p.sub.coming--
	p.sub.mu.Unlock()
	p.group.giveToken()
}

// Send implements coroutine.Traveller.
func (p *Processor) Send(co *coroutine.Coroutine) {
	p.sub.mu.Lock()
	p.sub.coming--
	p.sub.moved = append(p.sub.moved, co)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	p.ex.RequestPreempt()
	p.ep.Ring()
}

// follow moves the calling coroutine to a Processor of its group, and the fd
// with it. A caller that is there already moves the fd.
func (pd *PollDesc) follow(fd int, to *Processor) {
	co := coroutine.Current()
	if !pd.to.CompareAndSwap(to, nil) || co == nil || !to.active.Load() ||
		Current().group != to.group {
		return
	}
	if !co.MoveTo(&to.ex) && Current() != to {
		return
	}
	pd.move(fd, to)
}

// fetch moves an fd to the Processor of the caller, a coroutine that has moved,
// perhaps for another fd. An fd that cannot be moved is waited for where it is.
func (pd *PollDesc) fetch(fd int, home *Processor) {
	if p := Current(); p != home && p.group == home.group {
		pd.move(fd, p)
	}
}

// MoveHere moves fd to the caller's Processor, if the caller is a coroutine
// that has moved. It is for the owner of the reading direction, where it does
// not wait.
func (pd *PollDesc) MoveHere(fd int) {
	home, co := pd.home.Load(), coroutine.Current()
	if home != nil && co != nil && co.Moved() {
		pd.fetch(fd, home)
	}
}

// move registers fd with another Processor in place of its home. If that fails
// the fd stays, and the error is that of registering. It is for the owner of
// the reading direction.
func (pd *PollDesc) move(fd int, to *Processor) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	from := pd.home.Load()
	if from == nil || pd.flags.Load()&(flagClosing|flagDetached) != 0 {
		return nil // under flagClosing the fd may be closed, but only after Unbind has had mu
	}
	if pd.shared.Load() != nil {
		return pd.unshareLocked(fd, to)
	}
	if from == to {
		return nil
	}
	reg, err := to.ep.Register(fd, pd)
	if err != nil {
		return err
	}
	old := pd.reg
	pd.reg = reg
	pd.home.Store(to)
	from.ep.Remove(fd)
	from.ep.Release(old)
	return nil
}

// inTransit stands in a PollDesc for a Watch that is moving. A wake takes it
// out and has no other effect; the Watch, on its arrival, finds it gone and
// counts as woken.
var inTransit = new(coroutine.Waiter)

// transit is inTransit's Hook.
type transit struct{}

func (transit) Woken() {}

func init() { inTransit.SetHook(transit{}) }

// follow moves a Watch that has just been armed at p to where its fd is to
// move. Owner of p.
func (x *Watch) follow(p, to *Processor) {
	if x.pd.to.CompareAndSwap(to, nil) && to != p && to.active.Load() && to.group == p.group {
		x.moveTo(p, to)
	}
}

// moveTo moves an armed Watch from p to another Processor, and reports whether
// it has done so. Owner of p.
func (x *Watch) moveTo(p, to *Processor) bool {
	g := &x.pd.read
	if x.home != p || !to.Reserve(p) {
		return false
	}
	if !g.w.CompareAndSwap(&x.w, inTransit) {
		to.unreserve()
		return false
	}
	x.disarm(p)
	p.watches.Set(p.watches.Own() - 1)
	if x.pd.move(x.fd, to); x.pd.home.Load() != to {
		to.unreserve()
		x.arrived(p)
		return false
	}
	to.sub.mu.Lock()
	to.sub.coming--
	to.sub.watches = append(to.sub.watches, arrival{x: x, moved: true})
	to.sub.waiting.Add(1)
	to.sub.mu.Unlock()
	to.ex.RequestPreempt()
	to.ep.Ring()
	return true
}

// arrived ends moveTo: the Watch is armed at p again, or is woken if a wake
// came while it was in transit. Owner of p.
func (x *Watch) arrived(p *Processor) {
	x.home = p
	if !x.publish(p, inTransit) {
		p.watches.Inc()
		p.woken.add(p, x)
	}
}

// moveRequest is what a Processor is asked to give away.
type moveRequest struct {
	to *Processor
	n  int // connections at most
}

// moveAll is a moveRequest's n for all that can move. What is running moves
// when it comes out of its next wait.
const moveAll = math.MaxInt

// lending says which coroutines move when they call MoveOn. All fields: owner.
type lending struct {
	to   *Processor
	left int
	last uint64 // the last one in the run queue, as Executor.Taken counts
}

// lend makes up to n coroutines of the run queue move. Owner.
func (p *Processor) lend(to *Processor, n int) {
	queued := p.ex.Queued()
	if n != moveAll {
		n = min(n, queued/2)
	}
	if n > 0 {
		p.lending = lending{to, n, p.ex.Taken() + uint64(queued)}
		p.ex.Lend(p.lendOne)
	}
}

// lendOne returns where the next coroutine is to move, nil for it to stay.
// Owner.
func (p *Processor) lendOne() *coroutine.Executor {
	l := &p.lending
	over := p.ex.Taken() > l.last
	if l.left == moveAll {
		over = p.active.Load()
	}
	if over || l.left == 0 || p.phase != Running || !l.to.active.Load() {
		p.ex.Lend(nil)
		return nil
	}
	if l.left != moveAll {
		l.left--
	}
	return &l.to.ex
}

// moveWork moves work as requested. Owner.
func (p *Processor) moveWork() {
	r := p.moveRequest.Swap(nil)
	if p.phase != Running || !r.to.active.Load() {
		return
	}
	p.lend(r.to, r.n)
	left := r.n
	p.ep.Each(func(pd *PollDesc) {
		switch {
		case left <= 0 || pd.isListener() || pd.home.Load() != p:
		case p.moveOne(pd, r.to):
			left--
		case r.n == moveAll:
			pd.to.Store(r.to)
		}
	})
}

// moveOne moves an fd with the Watch that waits to read from it, or has the
// coroutine that does so move itself. It returns false if neither waits, or can
// move.
func (p *Processor) moveOne(pd *PollDesc, to *Processor) bool {
	w := pd.read.w.Load()
	if w == nil || w == readyW {
		return false
	}
	if pd.shared.Load() != nil { // whichever member takes what waits, its next wait moves it
		pd.to.Store(to)
		pd.read.unblock()
		return true
	}
	if x, ok := w.Hook().(*Watch); ok {
		return x.moveTo(p, to)
	}
	co := w.Coroutine()
	if co == nil {
		return false
	}
	switch host := of(co.Executor()); {
	case host == nil || host.group != p.group:
		return false
	case host != p:
		to = host // it has moved for another fd, or has got this one from another
	case !co.Movable():
		return false
	}
	pd.to.Store(to)
	pd.read.unblock()
	return true
}
