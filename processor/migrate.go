package processor

import (
	"math"

	"github.com/netco-go/netco/coroutine"
)

// Two kinds of work move from one Processor to another.
//
// Coroutines that are ready move as they come out of a wait, see
// coroutine.MoveOn: up to half of those in the run queue, or for a Processor that
// is not active any more all that come (lending).
//
// Connections move with what waits for them: a
// coroutine, which moves itself when it comes out of its wait (PollDesc.follow),
// or a Watch (Watch.moveTo). The fd is registered with the new Processor before
// it is taken out of the old one's epoll, so no event is lost: adding an fd
// reports what it is ready for. One that both report is a wake too many.
//
// Only what waits to read takes part. A coroutine that waits to write to the same
// fd stays, and is woken from the Processor that the fd is with.

// Reserve implements coroutine.Traveller. It takes a token for what will come.
func (p *Processor) Reserve() bool {
	p.sub.mu.Lock()
	defer p.sub.mu.Unlock()
	if p.sub.closed {
		return false
	}
	p.sub.coming++
	p.group.takeToken()
	return true
}

// unreserve takes a Reserve back.
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

// follow moves the calling coroutine to a Processor, and the fd with it; one that
// is there already takes the fd along.
func (pd *PollDesc) follow(fd int, to *Processor) {
	co := coroutine.Current()
	if !pd.to.CompareAndSwap(to, nil) || co == nil || !to.active.Load() {
		return
	}
	if !co.MoveTo(&to.ex) && Here() != to {
		return
	}
	pd.move(fd, to)
}

// fetch moves an fd to the caller, a coroutine that has moved, for another fd
// perhaps. One that cannot be moved is waited for where it is.
func (pd *PollDesc) fetch(fd int, home *Processor) {
	if p := Here(); p != home && p.group == home.group {
		pd.move(fd, p)
	}
}

// TakeAlong moves fd to the caller's Processor, if the caller is a coroutine that
// has moved. It is for the owner of the reading direction, where it does not wait.
func (pd *PollDesc) TakeAlong(fd int) {
	home, co := pd.home.Load(), coroutine.Current()
	if home != nil && co != nil && co.Moved() {
		pd.fetch(fd, home)
	}
}

// move registers fd with another Processor in place of its home. If that cannot
// be had it stays, and the error is that of registering. It is for the owner of
// the reading direction.
func (pd *PollDesc) move(fd int, to *Processor) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	from := pd.home.Load()
	if from == nil || from == to || pd.flags.Load()&(flagClosing|flagOrphan) != 0 {
		return nil // with flagClosing the fd may be closed by now, but not before Unbind has had mu
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

// inTransit stands in a PollDesc for a Watch that is moving. Whoever takes it out
// has done with it; the Watch finds that it is gone, and looks.
var inTransit = new(coroutine.Waiter)

// transit is inTransit's Hook.
type transit struct{}

func (transit) Woken() {}

func init() { inTransit.SetHook(transit{}) }

// follow has a Watch that has just been armed at p go where its fd is to move.
// Owner of p.
func (x *Watch) follow(p, to *Processor) {
	if x.pd.to.CompareAndSwap(to, nil) && to != p && to.active.Load() {
		x.moveTo(p, to)
	}
}

// moveTo moves an armed Watch from p to another Processor, and reports whether it
// has. Owner of p.
func (x *Watch) moveTo(p, to *Processor) bool {
	g := &x.pd.read
	if x.home != p || !to.Reserve() {
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

// arrived ends moveTo: the Watch is armed at p again, or is woken if it was
// while it was on its way. Owner of p.
func (x *Watch) arrived(p *Processor) {
	x.home = p
	if !x.publish(p, inTransit) {
		p.watches.Inc()
		p.woken.add(p, x)
	}
}

// gift is what a Processor is asked to give away.
type gift struct {
	to *Processor
	n  int // connections at most
}

// everything is a gift's n for all that can move; what is at work moves when it
// comes out of its next wait.
const everything = math.MaxInt

// lending says which coroutines move as they come to MoveOn. Owner.
type lending struct {
	to   *Processor
	left int
	last uint64 // the one that was at the end of the run queue, as Executor.Taken counts
}

// lend has coroutines move: up to n of those in the run queue. Owner.
func (p *Processor) lend(to *Processor, n int) {
	queued := p.ex.Queued()
	if n != everything {
		n = min(n, queued/2)
	}
	if n > 0 {
		p.lending = lending{to, n, p.ex.Taken() + uint64(queued)}
		p.ex.Lend(p.lendOne)
	}
}

// lendOne returns where a coroutine is to move, or nil. Owner.
func (p *Processor) lendOne() *coroutine.Executor {
	l := &p.lending
	over := p.ex.Taken() > l.last
	if l.left == everything {
		over = p.active.Load()
	}
	if over || l.left == 0 || p.phase != Running || !l.to.active.Load() {
		p.ex.Lend(nil)
		return nil
	}
	if l.left != everything {
		l.left--
	}
	return &l.to.ex
}

// give moves work as asked. Owner.
func (p *Processor) give() {
	g := p.gift.Swap(nil)
	if p.phase != Running || !g.to.active.Load() {
		return
	}
	p.lend(g.to, g.n)
	left := g.n
	p.ep.Each(func(pd *PollDesc) {
		switch {
		case left <= 0 || pd.Listener() || pd.home.Load() != p:
		case p.giveOne(pd, g.to):
			left--
		case g.n == everything:
			pd.to.Store(g.to)
		}
	})
}

// giveOne moves an fd with what waits to read from it, or has that move itself;
// false if there is nothing that could.
func (p *Processor) giveOne(pd *PollDesc, to *Processor) bool {
	w := pd.read.w.Load()
	if w == nil || w == readyW {
		return false
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
		to = host // which has moved for another fd, or has only been given this one
	case !co.Movable():
		return false
	}
	pd.to.Store(to)
	pd.read.kick()
	return true
}
