package processor

// arrival is a Watch that another thread sends to its home: one that it has
// woken, or a new one, see Begin.
type arrival struct {
	x   *Watch
	new bool // carries one of the group's tokens

	moved bool // it was armed on another Processor; carries a token
}

// Begin calls the Watcher, in a coroutine of p, as if the Watch had been armed
// there and woken: how a connection gets its first coroutine. At the group's
// limit that waits for a permit. Any thread; self is the caller's Processor, or
// nil. False means that p has ended.
func (x *Watch) Begin(self, p *Processor) bool {
	x.home = p
	if x.pd.home.Load() == nil {
		x.placed = true
		p.placed.Add(1)
	}
	if self == p {
		p.watches.Inc() // the caller lives here, so the token is held
		p.woken.add(p, x)
		return true
	}
	p.group.takeToken()
	if !p.sendWatch(arrival{x: x, new: true}) {
		p.group.giveToken()
		x.settle()
		return false
	}
	return true
}

// Bind registers fd with the caller's Processor, the home, if it is with none: to
// be called first by the coroutine that Begin has started, so that placement
// counts it where it is. The error is that of registering.
func (x *Watch) Bind(fd int) (err error) {
	if x.pd.home.Load() == nil {
		err = x.pd.bind(fd)
	}
	x.settle()
	return err
}

// settle ends that the fd is on its way.
func (x *Watch) settle() {
	if x.placed {
		x.placed = false
		x.home.placed.Add(-1)
	}
}

// sendWatch queues a Watch at its home, on any thread; false means that the home
// has ended.
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

// arrive takes up what sendWatch has sent. Owner.
func (p *Processor) arrive(a arrival) {
	switch {
	case a.new:
		p.watches.Inc()
		p.takeOver()
	case a.moved:
		p.takeOver()
		p.Stats.MovedWatches.Inc()
		a.x.arrived(p)
		return
	}
	p.woken.add(p, a.x)
}

// takeOver takes over a token that came with what lives here. Owner.
func (p *Processor) takeOver() {
	if p.holding {
		p.group.giveToken()
	}
	p.holding = true
}
