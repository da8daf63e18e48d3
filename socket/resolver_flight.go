package socket

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// A flight is one question on its way to Go's resolver, with the callers that
// wait for its answer. It runs on an ordinary goroutine of its own, because it
// must outlive the first caller: package blocking has one caller to a call.
//
//	state     means                  becomes, under flights.mu
//	queued    the limit is reached   running, when another ends; forgotten, when
//	                                 its last waiter has left
//	running   a goroutine asks       over, by that goroutine. When its last
//	                                 waiter has left, its context is cancelled
//	                                 and new callers get another flight
//	over      answer and err can     nothing
//	          be read
type flight struct {
	question question
	ask      func(context.Context) (any, error) // constant
	ctx      context.Context                    // constant; the flight's own
	cancel   context.CancelFunc                 // constant

	waiters map[*bell]struct{} // under flights.mu
	shared  bool               // under flights.mu until over: another has joined
	over    atomic.Bool
	answer  any // written before over, as err
	err     error
}

// question identifies a flight. Answers of different resolvers are not shared.
type question struct {
	kind          kindOfQuestion
	network, name string
	of            *net.Resolver
}

type kindOfQuestion uint8

const (
	askHost kindOfQuestion = iota
	askIP
	askIPAddr
	askPort
	askAddr
	askCNAME
	askMX
	askNS
	askSRV
	askTXT
	askProtocol
)

// flights are those of a Resolver.
type flights struct {
	mu      sync.Mutex // never held across a park or a call
	flying  map[question]*flight
	queue   []*flight
	running int // goroutines, those whose waiters have left included
}

// join adds a waiter to the flight of a question, and makes one if there is
// none. values are those that its context gets.
func (g *flights) join(b *bell, q question, limit int, values context.Context,
	ask func(context.Context) (any, error)) *flight {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flying[q]; f != nil {
		f.shared = true
		f.waiters[b] = struct{}{}
		return f
	}
	f := &flight{question: q, ask: ask, waiters: map[*bell]struct{}{b: {}}}
	f.ctx, f.cancel = context.WithCancel(values)
	if g.flying == nil {
		g.flying = map[question]*flight{}
	}
	g.flying[q] = f
	if g.running < limit {
		g.running++
		go g.fly(f)
	} else {
		g.queue = append(g.queue, f)
	}
	return f
}

// leave takes a waiter out of its flight. The last one ends it.
func (g *flights) leave(b *bell, f *flight) {
	if f.over.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(f.waiters, b)
	if len(f.waiters) > 0 || f.over.Load() {
		return
	}
	g.forgetLocked(f)
	for i, queued := range g.queue {
		if queued == f {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			break
		}
	}
	f.cancel()
}

// forgetLocked keeps others from joining a flight.
func (g *flights) forgetLocked(f *flight) {
	if g.flying[f.question] == f {
		delete(g.flying, f.question)
	}
}

var errLeft = errors.New("the resolver's Dial ended its goroutine")

// fly asks. The user's own Dial may be what it runs, so it must not hang its
// waiters when that ends by runtime.Goexit.
func (g *flights) fly(f *flight) {
	f.err = errLeft
	defer g.land(f)
	f.answer, f.err = f.ask(f.ctx)
	// Else it may have got by without.
	if f.err == nil && f.question.kind <= askIPAddr && net.ParseIP(f.question.name) == nil {
		askedOutside.Store(true)
	}
}

// land wakes the waiters and starts the next flight.
func (g *flights) land(f *flight) {
	f.cancel()
	g.mu.Lock()
	f.over.Store(true)
	g.forgetLocked(f)
	waiters := f.waiters
	f.waiters = nil
	g.nextLocked()
	g.mu.Unlock()
	for b := range waiters {
		b.ring()
	}
}

// nextLocked lets the oldest of the queue take the place of a flight that is
// over.
func (g *flights) nextLocked() {
	if len(g.queue) == 0 {
		g.running--
		return
	}
	next := g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	go g.fly(next)
}

// answer waits for the answer to q, until the caller's own limits. A copy of it
// is the caller's.
func answer[T any](r *Resolver, l limits, values context.Context, q question,
	ask func(context.Context, *net.Resolver) (T, error), clone func(T) T) (T, error) {
	v, _, err := sharedAnswer(r, l, values, q, ask, clone)
	return v, err
}

// sharedAnswer is answer that also returns whether others asked for it too.
func sharedAnswer[T any](r *Resolver, l limits, values context.Context, q question,
	ask func(context.Context, *net.Resolver) (T, error), clone func(T) T) (_ T, shared bool,
	_ error) {
	var none T
	if err := l.err(); err != nil {
		return none, false, dnsError(err, q.name)
	}
	r = r.orDefault()
	q.of = r.asked()
	if clock.InBubble() { // a flight's waiters may be in others, or in none
		v, err := answerHere(l, values, q, ask)
		return v, false, err
	}
	g, b := &r.flights, new(bell)
	f := g.join(b, q, r.limit(), values, func(ctx context.Context) (any, error) {
		return ask(ctx, q.of)
	})
	defer g.leave(b, f)
	if l.ctx.Done() != nil {
		stop := context.AfterFunc(l.ctx, b.ring)
		defer stop()
	}
	err := b.wait(coroutine.ReasonConnect, l.untilNs(), func() bool {
		return f.over.Load() || l.ctx.Err() != nil
	})
	switch {
	case f.over.Load():
		v, _ := f.answer.(T)
		return clone(v), f.shared, f.err
	case err != nil:
		return none, false, err // the scheduler is ending
	}
	if err = l.err(); err == nil {
		err = errTimeout // the two clocks are a moment apart
	}
	return none, false, dnsError(err, q.name)
}

// askedOutside reports whether Go's resolver has been used outside bubbles of
// testing/synctest. What it makes at its first use, a channel, is else that
// bubble's, and ends the program at the next use elsewhere.
var askedOutside atomic.Bool

var errFirstInBubble = errors.New("netco: the first look-up cannot be made in a testing/synctest " +
	"bubble")

// answerHere is answer without a flight: the caller asks.
func answerHere[T any](l limits, values context.Context, q question,
	ask func(context.Context, *net.Resolver) (T, error)) (T, error) {
	if !askedOutside.Load() {
		var none T
		return none, dnsError(errFirstInBubble, q.name)
	}
	ctx, cancel := context.WithCancel(values)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	if !l.until.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, l.until)
		defer stop()
	}
	v, err := ask(ctx, q.of)
	if ended := l.err(); err != nil && ended != nil {
		err = dnsError(ended, q.name)
	}
	return v, err
}

// dnsError is what net makes of the end of a context.
func dnsError(err error, name string) error {
	e := &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: name}
	if ne, ok := err.(net.Error); ok {
		e.IsTimeout, e.IsTemporary = ne.Timeout(), ne.Timeout()
	}
	return e
}
