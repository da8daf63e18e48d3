package processor

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/epoller"
)

// lookout watches the fds that ordinary goroutines wait for. The process has
// one, beside all Processors: a goroutine's wait must not depend on a thread
// that a coroutine may hold up, perhaps by waiting in a Go channel for that
// very goroutine, as libraries do that connect or read on goroutines of their
// own.
//
// An fd that coroutines and goroutines wait for is in two epolls. Each edge then comes twice; the second leaves a mark at most, which
// costs a try that finds nothing.
//
// It needs no Processor, and it exists only while fds are registered: its
// goroutine and its two fds come with the first and go when the last has been
// gone for a moment (linger). So a program that closes its sockets has nothing
// left of it, as with package net.
type lookout struct {
	ep    *epoller.Epoller[PollDesc]
	brief bool // owner: the last fd went a moment ago, and others may follow: no wait is longer than linger
}

// linger is how long the lookout stays without fds. Whoever opens and closes
// one connection after another would otherwise have it made, and woken to end,
// each time.
const linger = 10 * time.Millisecond

// theLookout is the one that takes fds; nil if there is none.
var theLookout atomic.Pointer[lookout]

// errNoLookout says that there is no lookout, and no fds are left for one. It
// does not leave this package.
var errNoLookout = errors.New("netco: no fds are left to watch others")

// openLookout returns the one that there is, or starts one. Not in a bubble of
// testing/synctest, to which its goroutine would belong.
func openLookout() (*lookout, error) {
	if l := theLookout.Load(); l != nil {
		return l, nil
	}
	if ensureNetpoll() != nil {
		return nil, errNoLookout
	}
	ep, err := epoller.Open[PollDesc]()
	if err != nil {
		return nil, errNoLookout
	}
	l := &lookout{ep: ep}
	if !theLookout.CompareAndSwap(nil, l) {
		ep.Close()
		return openLookout()
	}
	go l.loop()
	return l, nil
}

func (l *lookout) loop() {
	for {
		n := l.ep.Poll()
		if n == 0 {
			if n = l.wait(); n < 0 {
				theLookout.CompareAndSwap(l, nil)
				return
			}
		}
		for i := range n {
			if pd, events := l.ep.Event(i); pd != nil {
				pd.happened(nil, events)
			}
		}
		runtime.Gosched() // the goroutines that were woken run here and now, instead of after the wake of another thread
	}
}

// wait waits for events and returns how many there are; below 0, l is closed.
func (l *lookout) wait() (n int) {
	if !l.brief {
		l.ep.Asleep()
		if l.ep.Registered() > 0 { // else whoever took the last one out may have seen it awake
			n = l.ep.Wait()
		} else {
			l.brief = true
		}
		l.ep.Awake()
		return n
	}
	if n = l.ep.WaitFor(linger); n == 0 {
		if l.ep.CloseUnused() {
			return -1
		}
		l.brief = false
	}
	return n
}

// release ends a registration.
func (l *lookout) release(r epoller.Registration) {
	l.ep.Release(r)
	l.released()
}

// released makes l end soon, if nothing is registered any more.
func (l *lookout) released() {
	if l.ep.Registered() == 0 {
		l.ep.Ring()
	}
}

// outerBinding is an fd's registration with the lookout.
type outerBinding struct {
	at  *lookout
	reg epoller.Registration
	of  *Group // whose end is its end too; nil: the default Scheduler's, once that has been started
}

// defaultGroup is that of the default Scheduler while it runs, or nil.
var defaultGroup atomic.Pointer[Group]

// SetDefaultGroup makes g, which runs, the group of the fds that goroutines
// have waited for while no Processor ran.
func SetDefaultGroup(g *Group) { defaultGroup.Store(g) }

func (o *outerBinding) group() *Group {
	if o.of != nil {
		return o.of
	}
	return defaultGroup.Load()
}

// bindOuter registers fd with the lookout. It belongs to the group of its home,
// or of the default Scheduler, or of any that runs.
func (pd *PollDesc) bindOuter(fd int) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.outer.Load() != nil || pd.flags.Load()&flagClosing != 0 {
		return nil
	}
	o := &outerBinding{of: runningGroup()}
	for {
		l, err := openLookout()
		if err != nil {
			return err
		}
		o.at = l
		if o.reg, err = l.ep.Register(fd, pd); err == nil {
			break
		} else if !errors.Is(err, epoller.ErrClosed) {
			l.released() // it may have looked meanwhile
			return err
		}
		theLookout.CompareAndSwap(l, nil) // it has just ended
	}
	pd.outer.Store(o)
	if g := pd.group(); g != nil && g.Phase() >= Stopped {
		pd.flags.Or(flagOrphan) // it may have ended without seeing this fd
	}
	return nil
}

// eachOutside calls f for the group's fds that goroutines have waited for.
func eachOutside(g *Group, f func(*PollDesc)) {
	if l := theLookout.Load(); l != nil {
		l.ep.Each(func(pd *PollDesc) {
			if pd.group() == g {
				f(pd)
			}
		})
	}
}

// advanceOutside has the group's fds that goroutines have waited for follow it
// into a phase.
func (g *Group) advanceOutside(to Phase) {
	switch {
	case to >= Stopped:
		eachOutside(g, (*PollDesc).Orphan)
		defaultGroup.CompareAndSwap(g, nil)
	case to >= Draining:
		eachOutside(g, func(pd *PollDesc) {
			if pd.Listener() {
				pd.kick()
			}
		})
	}
}
