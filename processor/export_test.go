package processor

import "github.com/netco-go/netco/coroutine"

// Give asks p to give away n connections, and as many ready coroutines. Any
// thread.
func (p *Processor) Give(to *Processor, n int) { p.requestMove(to, n) }

// GiveAll makes p one that is not active and asks it to give all away. Any
// thread.
func (p *Processor) GiveAll(to *Processor) {
	p.active.Store(false)
	p.requestMove(to, moveAll)
}

// Share has the fds of p's group be those of the domains, or not. Any thread.
func (p *Processor) Share(on bool) {
	if on {
		p.group.share()
	} else {
		p.group.sharing.Store(false)
	}
}

// Shares reports whether the fds of p's group are those of the domains. On a
// crowded machine runs take long whatever they do, and then nothing is packed.
func (p *Processor) Shares() bool { return p.group.sharing.Load() }

// Gives reports whether p has yet to act on Give or GiveAll, or does so. It
// wakes p, which the monitor's own requests let sleep. Any thread.
func (p *Processor) Gives() bool {
	if p.moveRequest.Load() != nil {
		p.ep.Ring()
		return true
	}
	return !p.Idle()
}

// Pinned starts fn on p, for good, whatever the limit; for a caller outside. It
// returns the zero Handle if p has ended.
func (p *Processor) Pinned(fn func()) coroutine.Handle { return p.PinnedFrom(nil, fn) }

// PinnedFrom is Pinned for a caller on Processor here.
func (p *Processor) PinnedFrom(here *Processor, fn func()) coroutine.Handle {
	h, _ := p.group.Go(here, p, own(fn))
	return h
}

// PinnedHere is Pinned for a caller on p.
func (p *Processor) PinnedHere(fn func()) coroutine.Handle { return p.PinnedFrom(p, fn) }

// Open is Pinned for a coroutine that may be stolen.
func (p *Processor) Open(fn func()) coroutine.Handle {
	h, _ := p.group.Go(nil, p, spawnOf(fn, false, true))
	return h
}

// spawnOf returns a Spawn with the fields that a literal cannot set.
func spawnOf(fn func(), pinned, unlimited bool) coroutine.Spawn {
	s := coroutine.Spawn{Fn: fn}
	s.Pinned, s.Unlimited = pinned, unlimited
	return s
}
