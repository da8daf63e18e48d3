package coroutine

import (
	"errors"
	"sync/atomic"

	"github.com/netco-go/netco/internal/goruntime"
)

// ErrBubble is returned in a bubble of testing/synctest by every function that
// starts a Scheduler or its coroutines, or waits for them. Coroutines started
// there would belong to the bubble, which ends only when they have; coroutines
// of other threads do not see the bubble's clock. Operations among ordinary
// goroutines work there.
var ErrBubble = errors.New(
	"netco: Schedulers and their coroutines cannot be used in a testing/synctest bubble")

// ErrNoScheduler is returned by Start where nothing can run a coroutine.
var ErrNoScheduler = errors.New(
	"netco: no scheduler: import package netco, or call this from a coroutine")

// Spawn says what to start as a coroutine, and how; netco.Spawn has more of its
// fields. Only Fn must be set.
type Spawn struct {
	Fn    func()
	Name  string // logs, panics and listings show it
	On    Place  // where it starts and stays
	Local bool   // it starts on the caller's Processor, and both stay there
	Child bool   // it ends with its caller; in a Fiber, with the coroutine that drives the Fiber

	internals
}

// internals are the fields of a Spawn that only netco's own packages set. Make
// does not read On, Local and Unlimited, which are for its caller.
type internals struct {
	Site      uintptr // the return address of the call that starts it; 0 if unknown
	Pinned    bool    // it stays where it is adopted, see Pin
	Unlimited bool    // no limit applies: for coroutines that the library needs itself
	Detached  bool    // it inherits nothing: its caller does not start it for itself
}

// DetachedSpawn returns the Spawn for fn, for a caller that may run on any
// coroutine and does not start fn for that one.
func DetachedSpawn(fn func()) Spawn { return Spawn{Fn: fn, internals: internals{Detached: true}} }

// SpawnAt returns the Spawn for fn, started by the call that returns to site.
func SpawnAt(fn func(), site uintptr) Spawn {
	return Spawn{Fn: fn, internals: internals{Site: site}}
}

// Place names a Processor; the zero value names none.
type Place struct {
	number int // the Processor's plus 1; if OnProcessor got a negative number, that number
}

// OnProcessor names Processor i of a Scheduler, counted from 0.
func OnProcessor(i int) Place {
	if i >= 0 {
		i++
	}
	return Place{i}
}

// Processor returns the number that OnProcessor got; ok is false for the zero
// value.
func (p Place) Processor() (i int, ok bool) {
	if p.number > 0 {
		return p.number - 1, true
	}
	return p.number, p.number != 0
}

// Make makes a coroutine for an executor to Adopt. here is the executor on
// whose thread the caller runs, or nil, which allocates more. Only a coroutine
// may make a Child. Does not park.
//
//go:norace
func Make(here *Executor, s *Spawn) *Coroutine {
	co, id := here.newCoroutine()
	co.fn = s.Fn
	co.pinned = s.Pinned
	co.site.SetOrdered(uint64(s.Site))
	if s.Name != "" {
		name := new(string) // not &s.Name, which would allocate for "" too
		*name = s.Name
		co.name.SetOrdered(name)
	}
	if !s.Detached {
		co.tags = goruntime.Labels()
		if inheriting.Load() != 0 {
			inheritLocals(&co.locals)
			Rejoin()
		}
	}
	co.status.SetOrdered(uint64(Ready))
	co.id.SetOrdered(id)
	if s.Child {
		co.bind(Current())
	}
	co.raceMade()
	return co
}

// newCoroutine returns a struct for Make, and an id.
func (ex *Executor) newCoroutine() (co *Coroutine, id uint64) {
	if ex == nil {
		co, id = new(Coroutine), lastID.Add(1)
	} else {
		if goruntime.RaceEnabled {
			defer Own()()
		}
		co, id = ex.pool.Get(), ex.ids.take()
		co.ex.Set(nil) // until it is adopted: a late wake must not take it for this thread's
	}
	if co.node.Value == nil {
		// What all incarnations share.
		co.ticket = 1 // so that Coroutine.remote is 0 only without a wake
		co.waiter.co = co
		co.node.Value = co
	}
	co.raceNew()
	return co, id
}

// lastID is the highest id given out.
var lastID atomic.Uint64

// ids are taken from a block, so that threads seldom contend for lastID.
type ids struct{ next, end uint64 }

const idBlock = 1024

func (i *ids) take() uint64 {
	if i.next == i.end {
		i.end = lastID.Add(idBlock) + 1
		i.next = i.end - idBlock
	}
	i.next++
	return i.next - 1
}

// byDefault has package netco's functions; nil in a program without package
// netco.
var byDefault struct {
	start func(Spawn) (Handle, error)
	ready func() error
}

// SetDefault sets what Start and StartDefault do. For package netco's init.
func SetDefault(start func(Spawn) (Handle, error), ready func() error) {
	byDefault.start, byDefault.ready = start, ready
}

// StartDefault starts the default scheduler unless it has been started. Without
// package netco it returns ErrNoScheduler.
func StartDefault() error {
	if byDefault.ready == nil {
		return ErrNoScheduler
	}
	return byDefault.ready()
}

// Start starts a coroutine where netco.Go would: on the least loaded Processor
// of the caller's scheduler, or of the default one. It is for packages that
// netco itself imports. Without package netco it starts the coroutine on the
// caller's own thread, and returns ErrNoScheduler on an ordinary goroutine.
func Start(s Spawn) (Handle, error) {
	if byDefault.start != nil {
		return byDefault.start(s)
	}
	if w := CurrentWorker(); w != nil && w.ex != nil {
		return w.ex.host.StartHere(s)
	}
	return Handle{}, ErrNoScheduler
}
