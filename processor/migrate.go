package processor

import (
	"math"

	"github.com/netco-go/netco/coroutine"
)

// Two kinds of work move from one Processor to another.
//
// Ready coroutines move as they come out of a wait, see coroutine.MoveOn: up to
// half of the run queue, or on an inactive Processor all of it (lending).
//
// Connections move with the coroutine that reads from them: the coroutine moves
// itself at the end of its next wait, or before it arms a Watch
// (PollDesc.follow). An idle connection stays until data comes. The fd is
// registered with the new Processor before it is taken out of the old
// Processor's epoll, so no event is lost: adding an fd reports its present
// readiness. An event that both epolls report is a spurious wake.
//
// A coroutine that waits to write to the same fd stays, and is woken by the
// Processor that the fd is registered with.
//
// Both move within their group only. A reader of another group than the fd's
// Processor stays, and so does the fd.

// Reserve implements coroutine.Host. It takes a token for the coroutine that
// will arrive.
//
// Every move passes here, so no coroutine leaves its group: a group counts,
// limits and ends the coroutines that it started.
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

// Send implements coroutine.Host.
func (p *Processor) Send(co *coroutine.Coroutine) {
	p.sub.mu.Lock()
	p.sub.coming--
	p.sub.moved = append(p.sub.moved, co)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	p.ex.RequestPreempt()
	p.ep.Ring()
}

// follow moves the fd to a Processor of its group, and the calling coroutine
// with it. If the fd cannot be registered there, fd and coroutine stay.
func (pd *PollDesc) follow(fd int, to *Processor) {
	co := coroutine.Current()
	if !pd.to.CompareAndSwap(to, nil) || co == nil || !to.active.Load() ||
		Current().group != to.group || Current() != to && !co.Movable() {
		return
	}
	if pd.move(fd, to) == nil {
		co.MoveTo(&to.ex)
	}
}

// fetch moves an fd to the Processor of the caller, a coroutine that has moved,
// perhaps with another fd. An fd that cannot be moved stays where it is, and so
// does a wait for the fd.
func (pd *PollDesc) fetch(fd int, home *Processor) {
	if p := Current(); p != home && p.group == home.group {
		pd.move(fd, p)
	}
}

// MoveHere moves fd to the caller's Processor, if the caller is a coroutine
// that has moved. It is for the owner of the reading direction, while that
// owner does not wait.
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

// moveRequest asks a Processor to give work away.
type moveRequest struct {
	to *Processor
	n  int // connections at most
}

// moveAll is a moveRequest's n for all work that can move.
const moveAll = math.MaxInt

// lending says which coroutines move when they call MoveOn. All fields: owner.
type lending struct {
	to        *Processor
	remaining int
	last      uint64 // the last such coroutine in the run queue, as Executor.Taken counts
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
	n := r.n
	if n == moveAll { // p is inactive, and may sleep from now on
		p.ex.EndIdle(n)
	}
	p.ep.Each(func(pd *PollDesc) {
		if n > 0 && pd.home.Load() == p && !pd.isListener() {
			pd.to.Store(r.to)
			n--
		}
	})
}
