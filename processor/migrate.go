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
// Connections move with their waiter: a coroutine, which moves itself when it
// comes out of its wait (PollDesc.follow), or a Watch (Watch.moveTo). The fd is
// registered with the new Processor before it is taken out of the old
// Processor's epoll, so no event is lost: adding an fd reports its present
// readiness. An event that both report is a spurious wake.
//
// Only waiters that wait to read move. A coroutine that waits to write to the
// same fd stays, and is woken by the Processor that the fd is registered with.
//
// Both move within their group only. A reader of another group than the fd's
// Processor stays, and so does the fd.

// Reserve implements coroutine.Traveller. It takes a token for what will
// arrive.
//
// Everything that moves passes here, and so nothing leaves its group: a group
// counts, limits and ends the coroutines that it started.
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
// with it. If the caller is there already only the fd moves.
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
// perhaps with another fd. An fd that cannot be moved stays where it is, and so
// does the wait for it.
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
// the fd stays, and the error is from registering it. It is for the owner of
// the reading direction.
func (pd *PollDesc) move(fd int, to *Processor) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	from := pd.home.Load()
	if from == nil || pd.flags.Load()&(flagClosing|flagDetached) != 0 {
		return nil // with flagClosing the fd may be closed, but only after Unbind has had mu
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

// inTransit stands in a PollDesc for a Watch that is moving. A wake takes
// inTransit out and has no other effect; the Watch, on its arrival, finds it
// gone and counts as woken.
var inTransit = new(coroutine.Waiter)

// transit is inTransit's Hook.
type transit struct{}

func (transit) Woken() {}

func init() { inTransit.SetHook(transit{}) }

// follow moves a Watch that has just been armed at p to the Processor that its
// fd is to move to. Owner of p.
func (wa *Watch) follow(p, to *Processor) {
	if wa.pd.to.CompareAndSwap(to, nil) && to != p && to.active.Load() && to.group == p.group {
		wa.moveTo(p, to)
	}
}

// moveTo moves an armed Watch from p to another Processor, and reports whether
// it has done so. Owner of p.
func (wa *Watch) moveTo(p, to *Processor) bool {
	g := &wa.pd.read
	if wa.home != p || !to.Reserve(p) {
		return false
	}
	if !g.w.CompareAndSwap(&wa.w, inTransit) {
		to.unreserve()
		return false
	}
	wa.disarm(p)
	p.watches.Set(p.watches.Own() - 1)
	if wa.pd.move(wa.fd, to); wa.pd.home.Load() != to {
		to.unreserve()
		wa.arrived(p)
		return false
	}
	to.sub.mu.Lock()
	to.sub.coming--
	to.sub.watches = append(to.sub.watches, arrival{x: wa, moved: true})
	to.sub.waiting.Add(1)
	to.sub.mu.Unlock()
	to.ex.RequestPreempt()
	to.ep.Ring()
	return true
}

// arrived ends moveTo: the Watch is armed at p again, or is woken if a wake
// came while it was in transit. Owner of p.
func (wa *Watch) arrived(p *Processor) {
	wa.home = p
	if !wa.publish(p, inTransit) {
		p.watches.Inc()
		p.woken.add(p, wa)
	}
}

// moveRequest asks a Processor to give work away.
type moveRequest struct {
	to *Processor
	n  int // connections at most
}

// moveAll is a moveRequest's n for all that can move. A running coroutine moves
// when it comes out of its next wait.
const moveAll = math.MaxInt

// lending says which coroutines move when they call MoveOn. All fields: owner.
type lending struct {
	to        *Processor
	remaining int
	last      uint64 // the last of them in the run queue, as Executor.Taken counts
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
	if l.remaining == moveAll {
		over = p.active.Load()
	}
	if over || l.remaining == 0 || p.phase != Running || !l.to.active.Load() {
		p.ex.Lend(nil)
		return nil
	}
	if l.remaining != moveAll {
		l.remaining--
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
	remaining := r.n
	p.ep.Each(func(pd *PollDesc) {
		switch {
		case remaining <= 0 || pd.isListener() || pd.home.Load() != p:
		case p.moveOne(pd, r.to):
			remaining--
		case r.n == moveAll:
			pd.to.Store(r.to)
		}
	})
}

// moveOne moves an fd with the Watch that waits to read from it, or makes the
// coroutine that waits to read move itself. It returns false if neither waits,
// or can move.
func (p *Processor) moveOne(pd *PollDesc, to *Processor) bool {
	w := pd.read.w.Load()
	if w == nil || w == readyW {
		return false
	}
	if pd.shared.Load() != nil { // whichever member takes the waiter, its next wait moves the fd
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
		to = host // it has moved with another fd, or has this one from another coroutine
	case !co.Movable():
		return false
	}
	pd.to.Store(to)
	pd.read.unblock()
	return true
}
