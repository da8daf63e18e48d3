package processor

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
)

// Every coroutine of a group takes one way to its first instruction:
//
//	Group.Go          picks the Processor, takes the permit and makes the
//	                  coroutine (coroutine.Make); on the caller's own Processor,
//	                  if it is to stay there, it is ready
//	submit            otherwise it is queued at its Processor
//	adopt, stealFrom  in a turn of its Processor, or of one that steals it, it
//	                  is ready (Executor.Adopt)
//	Executor.Run      gives it a goroutine (attach), which calls it (workerMain,
//	                  call)
//
// A program's coroutines come from netco.Go and the like by Scheduler.Go. The
// loop's own coroutines, for Funcs and woken Watches, have a permit of another
// kind and begin with Executor.Spawn.

// Go starts a coroutine of the group on the Processor on; nil means the least
// loaded. here is the caller's Processor, nil for a caller that runs on none of
// the group. Unless the coroutine is pinned another Processor may steal it; Go
// pins a Local s. The error is ErrTooManyCoroutines, or ErrShutdown: from
// Stopping on only the library itself starts coroutines, on Processors that it
// names. Any thread.
func (g *Group) Go(here, on *Processor, s *coroutine.Spawn) (coroutine.Handle, error) {
	switch {
	case s.Fn == nil:
		panic("netco: Go of a nil func")
	case g.Phase() >= Stopping && (on == nil || !s.Unlimited):
		return coroutine.Handle{}, coroutine.ErrShutdown
	case s.Local && here != nil:
		if co := here.ex.Current(); co != nil {
			co.Pin()
		}
		on, s.Pinned = here, true
	case on == nil:
		on = g.place(here)
	}
	if s.Unlimited {
		g.takePermit()
	} else if !g.admit() {
		return coroutine.Handle{}, ErrTooManyCoroutines
	}
	var co *coroutine.Coroutine
	if coroutine.MakingMayPanic() {
		defer g.releaseUnmade(&co)
	}
	var ex *coroutine.Executor // the caller's executor, if it is on's
	if here == on {
		ex = &on.ex
	}
	co = coroutine.Make(ex, s)
	h := co.Handle()
	if goruntime.RaceEnabled && here != nil { // the loop of another group may not know on
		defer coroutine.Own()()
	}
	if ex != nil && s.Pinned {
		on.hold()
		ex.Adopt(co)
		return h, nil
	}
	carries := here != on
	if carries {
		g.takeToken()
	} else {
		on.hold() // nothing may live here yet, if the caller is the loop
	}
	if !on.submit(here, submission{co, carries}, s.Pinned) {
		g.giveToken() // a caller on the Processor would keep it alive
		g.releasePermit()
		co.Discard()
		return coroutine.Handle{}, coroutine.ErrShutdown
	}
	return h, nil
}

// internalSpawn returns the Spawn of a coroutine that the library starts on a
// given Processor.
func internalSpawn(fn func()) *coroutine.Spawn {
	s := &coroutine.Spawn{Fn: fn}
	s.Pinned, s.Unlimited = true, true
	return s
}

// hold takes the token for the coroutines and Watches that are about to live
// here. Owner.
func (p *Processor) hold() {
	if !p.holding {
		p.holding = true
		p.group.takeToken()
	}
}
