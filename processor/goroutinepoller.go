package processor

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/stacks"
)

// goroutinePoller watches the fds that ordinary goroutines wait for. The
// process has one poller, separate from all Processors: a goroutine's wait must
// not depend on a thread that a coroutine may hold up, perhaps by waiting in a
// Go channel for that very goroutine. Libraries that connect or read on
// goroutines of their own wait like that.
//
// An fd that both coroutines and goroutines wait for is in two epolls. Each
// edge then comes twice; the second at most sets a mark, which costs an
// operation that finds nothing.
//
// The poller needs no Processor. Its goroutine and its two fds exist only while
// fds are registered, and for a moment longer (linger). So nothing remains of
// the poller when a program has closed its sockets, as with package net.
type goroutinePoller struct {
	ep     *epoller.Epoller[PollDesc]
	ending atomic.Bool // endUnused is about to be called
}

// linger is how long the poller stays without fds. Without it, a program that
// opens and closes one connection after another would make a poller, and end
// it, each time.
const linger = 10 * time.Millisecond

// currentPoller is the poller that registers fds, or nil.
var currentPoller atomic.Pointer[goroutinePoller]

// errNoPoller says that there is no poller, and no fds are left to make one. No
// other package gets it.
var errNoPoller = errors.New("netco: no fds are left to watch others")

// openPoller returns the current poller, or starts one. It must not be called
// in a bubble of testing/synctest, to which the goroutine would belong.
func openPoller() (*goroutinePoller, error) {
	if l := currentPoller.Load(); l != nil {
		return l, nil
	}
	ep, err := epoller.Open[PollDesc]()
	if err != nil {
		return nil, errNoPoller
	}
	l := &goroutinePoller{ep: ep}
	if !currentPoller.CompareAndSwap(nil, l) {
		ep.Close()
		return openPoller()
	}
	go l.loop()
	return l, nil
}

func (gp *goroutinePoller) loop() {
	defer stacks.Bystander()()
	for !gp.ep.Ended() {
		n := gp.ep.Poll()
		if n == 0 {
			n = gp.ep.Wait()
		}
		for i := range n {
			if pd, events := gp.ep.Event(i); pd != nil {
				pd.onEvent(nil, events)
			}
		}
		// The woken goroutines run on this thread at once, not after the wake
		// of another thread.
		runtime.Gosched()
	}
	currentPoller.CompareAndSwap(gp, nil)
	gp.ep.Close()
}

// release ends a registration.
func (gp *goroutinePoller) release(r epoller.Registration) {
	gp.ep.Release(r)
	gp.released()
}

// released makes gp end soon, if no fd is registered with it.
func (gp *goroutinePoller) released() {
	switch {
	case gp.ep.Registered() > 0: // no timer for nothing
	case clock.InBubble(): // a bubble's timers may never fire
		gp.ep.EndUnused()
	case !gp.ending.Swap(true):
		time.AfterFunc(linger, gp.endUnused)
	}
}

// endUnused makes gp end, if no fd is registered with it.
func (gp *goroutinePoller) endUnused() {
	gp.ending.Store(false) // first: a later release calls endUnused again
	gp.ep.EndUnused()
}

// fdWaits counts the waits of ordinary goroutines for fds that have no
// deadline: a deadline sets a timer of Go's.
var fdWaits struct{ begun, ended atomic.Uint64 }

// GoroutinesAtFDs returns how many waits for fds ordinary goroutines have begun
// without a deadline, and whether any of them goes on. Any thread.
func GoroutinesAtFDs() (begun uint64, any bool) {
	ended := fdWaits.ended.Load() // first: a wait that begins now goes on
	begun = fdWaits.begun.Load()
	return begun, begun != ended
}

// parkGoroutine is w.Park for an ordinary goroutine's wait for an fd.
func parkGoroutine(w *coroutine.Waiter, reason coroutine.Reason) coroutine.Wake {
	fdWaits.begun.Add(1)
	defer fdWaits.ended.Add(1)
	return w.Park(reason)
}

// goroutineReg is an fd's registration with the goroutine poller, or notes that
// there was no poller.
type goroutineReg struct {
	at  *goroutinePoller // nil: there was none, and a wait is a pollWait
	reg epoller.Registration
	of  *Group // the group whose end ends the fd's waits; nil: the default Scheduler's, if any
}

// defaultScheduler is the default Scheduler that runs, or the next one.
type defaultScheduler struct {
	group  *Group // nil: it has not started
	number uint32 // from 1: how many have ended before it, and itself
}

// byDefault is replaced as a whole, so that each fd belongs to a default
// Scheduler or is orphaned, at any time. Its value is constant.
var byDefault atomic.Pointer[defaultScheduler]

func init() { byDefault.Store(&defaultScheduler{number: 1}) }

// SetDefaultGroup sets the running group whose end ends the waits of goroutines
// that began while no Processor ran.
func SetDefaultGroup(g *Group) {
	for d := byDefault.Load(); d.group != g; d = byDefault.Load() {
		byDefault.CompareAndSwap(d, &defaultScheduler{g, d.number})
	}
}

// endDefault makes g, which has ended, the default group no more.
func endDefault(g *Group) {
	for d := byDefault.Load(); d.group == g; d = byDefault.Load() {
		byDefault.CompareAndSwap(d, &defaultScheduler{number: d.number + 1})
	}
}

func (o *goroutineReg) group() *Group {
	if o.of != nil {
		return o.of
	}
	return byDefault.Load().group
}

// goroutineRegistration returns pd's registration with the goroutine poller, or
// nil.
func (pd *PollDesc) goroutineRegistration() *goroutineReg {
	if o := pd.goroutine.Load(); o != nil && o.at != nil {
		return o
	}
	return nil
}

// registerForGoroutine registers fd with the goroutine poller. The fd belongs
// to the group of its home, or of the default Scheduler, or to any running
// group.
func (pd *PollDesc) registerForGoroutine(fd int) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.goroutineRegistration() != nil || pd.flags.Load()&flagClosing != 0 {
		return nil
	}
	o := &goroutineReg{}
	if last := pd.goroutine.Load(); last != nil {
		o.of = last.of
	} else {
		o.of = runningGroup()
	}
	for {
		l, err := openPoller()
		if err != nil {
			pd.goroutine.Store(o) // the end of the group ends the wait in any case
			return err
		}
		if o.reg, err = l.ep.Register(fd, pd); err == nil {
			o.at = l
			break
		} else if !errors.Is(err, epoller.ErrClosed) {
			l.released() // the poller may have seen this attempt and gone on
			return err
		}
		currentPoller.CompareAndSwap(l, nil) // l has just ended
	}
	pd.goroutine.Store(o)
	if g := pd.group(); g != nil && g.Phase() >= Stopped || g == nil && pd.orphaned() {
		pd.flags.Or(flagDetached) // g may have ended without seeing this fd
	}
	return nil
}

// LeaveProcessors takes fd out of the Processors' epolls: only goroutines will
// wait for it, until a coroutine does. The caller owns both directions.
func (pd *PollDesc) LeaveProcessors(fd int) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	home := pd.home.Load()
	if home == nil || pd.flags.Load()&(flagClosing|flagDetached) != 0 {
		return
	}
	if pd.goroutine.Load() == nil {
		pd.goroutine.Store(&goroutineReg{of: home.group})
	}
	pd.unregisterLocked(fd)
}

// LeaveGoroutines takes fd out of the goroutine poller's epoll, until a
// goroutine waits for it. The caller owns both directions.
func (pd *PollDesc) LeaveGoroutines(fd int) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if o := pd.goroutineRegistration(); o != nil && pd.flags.Load()&flagClosing == 0 {
		o.at.ep.Remove(fd)
		o.at.release(o.reg)
		pd.goroutine.Store(&goroutineReg{of: o.of})
	}
}

// eachGoroutineFD calls f for the group's fds that goroutines have waited for.
func eachGoroutineFD(g *Group, f func(*PollDesc)) {
	if l := currentPoller.Load(); l != nil {
		l.ep.Each(func(pd *PollDesc) {
			if pd.group() == g {
				f(pd)
			}
		})
	}
}

// advanceGoroutineFDs makes the group's fds that goroutines have waited for
// follow the group into a phase.
func (g *Group) advanceGoroutineFDs(to Phase) {
	switch {
	case to >= Stopped:
		eachGoroutineFD(g, (*PollDesc).detach)
		endDefault(g)
	case to >= Draining:
		eachGoroutineFD(g, (*PollDesc).unblock)
	}
}

// GoroutinePollDescs calls f for the fds of the group that only ordinary
// goroutines have waited for, from any thread, until it returns false. It may
// miss fds that come or go meanwhile.
func (g *Group) GoroutinePollDescs(f func(*PollDesc) bool) {
	more := true
	eachGoroutineFD(g, func(pd *PollDesc) {
		if more && pd.home.Load() == nil {
			more = f(pd)
		}
	})
}
