package blocking

import (
	"context"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/netco-go/netco/coroutine"
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

// TestCallTransitions: the transitions of a call by the caller, the worker and
// the context, from each state, and what each method returns.
func TestCallTransitions(t *testing.T) {
	failed := &coroutine.PanicError{Value: "text"}
	for _, c := range []struct {
		from     uint64
		by       string
		to       uint64
		accepted bool
	}{
		{waiting, "begin", running, true},
		{waiting | contextDone, "begin", running | contextDone, true},
		{abandoned, "begin", abandoned, false},

		{running, "finish", done, true},
		{running | contextDone, "finish", done, true},
		{abandoned, "finish", abandoned, true},

		{running, "finish panicked", done, true},
		{abandoned, "finish panicked", abandoned, false}, // panics

		{waiting, "abandon", abandoned, true},
		{running, "abandon", abandoned, true},
		{waiting | contextDone, "abandon", abandoned, true},
		{running | contextDone, "abandon", abandoned, true},
		{done, "abandon", done, false},

		{waiting, "cancel", waiting | contextDone, true},
		{running, "cancel", running | contextDone, true},
		{done, "cancel", done, true},
		{abandoned, "cancel", abandoned, true},
	} {
		t.Run(fmt.Sprint(c.by, " from ", c.from), func(t *testing.T) {
			one := &call{pool: new(Pool)}
			one.word.Store(c.from)
			accepted := true
			switch c.by {
			case "begin":
				accepted = one.begin()
			case "finish":
				one.finish()
			case "finish panicked":
				one.failure = failed
				accepted = returns(one.finish)
			case "abandon":
				accepted = one.abandon()
			case "cancel":
				one.cancel()
			}
			if to := one.word.Load(); to != c.to || accepted != c.accepted {
				t.Errorf("became %d, accepted %v, want %d, %v", to, accepted, c.to, c.accepted)
			}
		})
	}
}

// returns reports whether f returns and does not panic.
func returns(f func()) (ok bool) {
	defer func() { recover() }()
	f()
	return true
}
