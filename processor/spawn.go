package processor

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
)

// Spawn describes a coroutine to start. Only Fn must be set.
type Spawn struct {
	Fn   func()
	Name string
	Site uintptr    // the program counter of the call that starts it, or 0
	On   *Processor // where it starts; for Group.Go, nil is the least loaded

	Pinned bool // it stays on On
	Local  bool // for Group.Go: it starts on the caller's Processor, and both stay there

	// Unlimited starts it even if no permit is left. It is for coroutines that
	// the library starts by itself.
	Unlimited bool
}

// Every coroutine of a group takes one way to its first instruction:
//
//	Group.Go          picks the Processor for a start by the program, once its
//	                  Scheduler allows it
//	Processor.Spawn   takes the permit and makes the coroutine; one that is to
//	                  stay on the caller's own Processor is ready
//	submit            else it is queued at its Processor
//	adopt, stealFrom  in a turn of its Processor, or of one that steals it, it
//	                  is ready
//	Executor.Run      gives it a goroutine
//
// Coroutines that the loop itself starts, for Funcs and for woken Watches, have
// a permit of another kind and begin with Executor.Spawn.

// Go starts a coroutine of the group. The Processor here is the caller's if it
// belongs to the group, else nil. The error is ErrShutdown or
// ErrTooManyCoroutines. Any thread.
func (g *Group) Go(here *Processor, s Spawn) (coroutine.Handle, error) {
	switch {
	case s.Fn == nil:
		panic("netco: Go of a nil func")
	case g.Phase() >= Stopping:
		return coroutine.Handle{}, coroutine.ErrShutdown
	case s.Local && here != nil:
		if co := here.ex.Current(); co != nil {
			co.Pin()
		}
		s.On, s.Pinned = here, true
	case s.On == nil:
		s.On = g.place(here)
	}
	return s.On.Spawn(here, s)
}

// Spawn starts a coroutine on this Processor. The Processor here is the
// caller's, or nil. Another Processor may steal the coroutine unless it is
// pinned. The error is ErrTooManyCoroutines, or ErrShutdown if the Processor
// has ended. Any thread.
func (p *Processor) Spawn(here *Processor, s Spawn) (coroutine.Handle, error) {
	g := p.group
	if s.Unlimited {
		g.takePermit()
	} else if !g.admit() {
		return coroutine.Handle{}, ErrTooManyCoroutines
	}
	var co *coroutine.Coroutine
	if coroutine.MakingMayPanic() {
		defer g.releaseUnmade(&co)
	}
	var ex *coroutine.Executor // p's, if the caller runs on it
	if here == p {
		ex = &p.ex
	}
	co = coroutine.Make(ex, coroutine.Spec{Fn: s.Fn, Name: s.Name, Site: s.Site, Pinned: s.Pinned})
	h := co.Handle()
	if goruntime.RaceEnabled && here != nil { // the loop of another group may not know p
		defer coroutine.Own()()
	}
	if ex != nil && s.Pinned {
		p.hold()
		ex.Adopt(co)
		return h, nil
	}
	carries := here != p
	if carries {
		g.takeToken()
	} else {
		p.hold() // nothing may live here yet, if the caller is the loop
	}
	if !p.submit(here, submission{co, carries}, s.Pinned) {
		g.giveToken() // a caller on p could not be there
		g.releasePermit()
		co.Discard()
		return coroutine.Handle{}, coroutine.ErrShutdown
	}
	return h, nil
}

// hold takes the token for the coroutines and Watches that are about to live
// here. Owner.
func (p *Processor) hold() {
	if !p.holding {
		p.holding = true
		p.group.takeToken()
	}
}
