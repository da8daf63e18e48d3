package processor

// arrival is a Watch that another thread sends to its home: one that it has woken, or a new one, see Begin.
type arrival struct {
	x   *Watch
	new bool // carries one of the group's tokens

	moved bool // it was armed on another Processor; carries a token
}

// Begin calls the Watcher, in a coroutine of p, as if the Watch had been armed there and woken: how a connection gets its first
// coroutine. At the group's limit that waits for room. Any thread; self is the caller's Processor, or nil. False means that p
// has ended.
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

// Bind registers fd with the caller's Processor, the home, if it is with none: to be called first by the coroutine that Begin has
// started, so that placement counts it where it is. The error is that of registering.
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

// sendWatch queues a Watch at its home, on any thread; false means that the home has ended.
func (p *Processor) sendWatch(a arrival) bool {
	p.sub.mu.Lock()
	if p.sub.closed {
		p.sub.mu.Unlock()
		return false
	}
	p.sub.watches = append(p.sub.watches, a)
	p.sub.waiting.Add(1)
	p.sub.mu.Unlock()
	p.ex.Notice()
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
		a.x.arrived(p)
		return
	}
	p.woken.add(p, a.x)
}

// takeOver takes over a token that came with what now lives here. Owner.
func (p *Processor) takeOver() {
	if p.holding {
		p.group.giveToken()
	}
	p.holding = true
}

// awaitRoom takes a place in the group's limit for one more coroutine, or leaves word that the Watches wait for one.
//
// One coroutine for Watches may live on each Processor whatever the limit, so that they cannot wait for coroutines that
// wait for them; and while the group ends all may, since they are about to end, each as it begins.
//
// Nothing is lost: it looks once more after it has left word, and who makes room asks for that word afterwards. Those are the ends of
// coroutines, for which their Processor asks in each turn and when it is about to sleep, and starts that are refused.
func (q *wokenWatches) awaitRoom(p *Processor) bool {
	if q.tryRoom(p) {
		q.wait(p, false)
		q.alive.Add(1)
		return true
	}
	if q.short.Load() {
		return false
	}
	q.wait(p, true)
	if !q.tryRoom(p) {
		return false
	}
	q.wait(p, false)
	q.alive.Add(1)
	return true
}

func (q *wokenWatches) tryRoom(p *Processor) bool {
	g := p.group
	if started := g.limit.started.Add(1); q.alive.Load() == 0 || g.Phase() >= Draining || g.fits(started, g.limit.max) {
		return true
	}
	g.limit.started.Add(-1)
	return false
}

// wait leaves, or takes back, word that Watches wait for room.
func (q *wokenWatches) wait(p *Processor, short bool) {
	switch {
	case q.short.Load() == short:
	case short:
		q.short.Store(true)
		p.group.limit.short.Add(1)
	default:
		q.short.Store(false)
		p.group.limit.short.Add(-1)
	}
}

// ended is called at the end of each coroutine for Watches, under a limit: any
// thread. Its end is told of like any other.
func (q *wokenWatches) ended() { q.alive.Add(-1) }

// makeRoom goes on with Watches that wait for room, and tells other Processors that there is some. Called in each turn under a limit.
func (p *Processor) makeRoom() {
	if p.woken.n > 0 {
		p.woken.want(p)
	}
	p.tellEnds()
}

// tellEnds tells other Processors of ends here that may have made room.
func (p *Processor) tellEnds() {
	if p.group.limit.short.Load() == 0 {
		return
	}
	if ended := p.ex.Stats.Ended.Own(); ended != p.woken.told {
		p.woken.told = ended
		p.group.tellShort(p)
	}
}

// tellShort makes Processors whose Watches wait for room look, but not self.
func (g *Group) tellShort(self *Processor) {
	for _, q := range g.members {
		if q != self && q.woken.short.Load() {
			q.Wake()
		}
	}
}
