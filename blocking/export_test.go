package blocking

import (
	"context"
	"time"
	"unsafe"
)

// SetAfterFunc puts another function in the place of context.AfterFunc until
// restore is called.
func SetAfterFunc(f func(context.Context, func()) func() bool) (restore func()) {
	old := afterFunc
	afterFunc = f
	return func() { afterFunc = old }
}

// Tick is what the pool's timer calls.
func (p *Pool) Tick() { p.tick() }

// OnlyTick makes Tick the only one that ticks, however long the test takes. The
// pool must be new.
func (p *Pool) OnlyTick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(idlePeriod, func() {})
}

// Ticking reports whether a tick is to come.
func (p *Pool) Ticking() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ticking
}

// Check reports whether the pool's books agree with one another.
func (p *Pool) Check() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := p.queue.calls.Front(); c != nil; c = c.Link {
		if !c.queued {
			return false
		}
		n++
	}
	return n == p.queue.length && p.workers >= len(p.idle) && p.untouched <= len(p.idle) &&
		(n == 0 || len(p.idle) == 0 && p.workers >= p.limitLocked()) &&
		(len(p.idle) == 0 || p.ticking)
}

// Lock takes the pool's lock, until what it returns is called.
func Lock(p *Pool) (release func()) {
	p.mu.Lock()
	return p.mu.Unlock
}

// Exact is Stats, with all figures of the same moment.
func (p *Pool) Exact() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Limit: p.limitLocked(), Workers: p.workers, Idle: len(p.idle),
		Running: p.workers - len(p.idle),
		Queued:  p.queue.length, Done: p.done, Abandoned: p.abandoned,
	}
}

// CallOn is Call on a pool.
func CallOn[T any](ctx context.Context, p *Pool, fn func() (T, error)) (T, error) {
	return callOn(ctx, p, fn)
}

const DefaultLimit = defaultLimit

// LinksOffset is where a call has its links.
const LinksOffset = unsafe.Offsetof(call{}.Links)
