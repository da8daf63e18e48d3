package processor

import (
	"errors"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// PollDesc is an fd as its waiters see it: for each of its two directions, the
// waiter, the deadline, and whether an edge has come. It is embedded in the
// owner of the fd, which serialises readers among themselves and writers among
// themselves.
//
// Each direction has a word (gate.w):
//
//	nil      nothing is known; a waiter may publish itself
//	readyW   an edge has come since the word was last cleared
//	*Waiter  a coroutine, a goroutine or a Watch waits
//
//	nil → *Waiter     the waiter, which then checks once more whether to wait
//	nil → readyW      the Processor, on an event
//	*Waiter → readyW  the Processor, on an event; it then wakes the waiter
//	*Waiter → nil     SetDeadline, Evict and the like, which then wake the
//	                  waiter; or the waiter itself, when its park ended for
//	                  another reason
//	readyW → nil      the waiter, before the operation whose failure would make
//	                  it wait
//
// An edge always sets the mark, even if it finds a waiter: the waiter may be
// about to give up at its deadline, and not try again. The code that takes a
// waiter out wakes it, once. A wake means "try again", not "ready": the waiter
// checks deadline, closing and draining itself, and a change of them wakes it.
type PollDesc struct {
	// The fields that a wait touches come first: one cache line.
	read, write gate
	flags       atomic.Uint32
	opened      uint32                     // constant: of Opened, or 0
	home        atomic.Pointer[Processor]  // its epoll watches the fd; changed under mu
	shared      atomic.Pointer[sharedRegs] // set if the home's domain watches it; changed under mu
	to          atomic.Pointer[Processor]  // its reader is to move it there, see migrate.go; or nil

	Owner     any                          // constant: the struct around it, for PollDescs; or nil
	goroutine atomic.Pointer[goroutineReg] // nil until a goroutine has waited; changed under mu

	mu  inside.Mutex
	reg epoller.Registration // with home, unless shared; under mu
}

// gate is one direction of an fd.
type gate struct {
	w        atomic.Pointer[coroutine.Waiter]
	deadline atomic.Int64 // CLOCK_MONOTONIC ns; 0: none
}

// readyW marks a direction as ready.
var readyW = new(coroutine.Waiter)

// The flags of a PollDesc.
const (
	flagReadOn   = 1 << iota // only EAGAIN ends a burst of reads, see epoller.Events.ReadOn
	flagClosing              // Evict was called
	flagDetached             // its Processor has ended
	flagListener             // constant: it waits for connections, until draining begins
	flagTimed                // a deadline has been set at some time
)

// Mode is a direction.
type Mode uint8

// The directions.
const (
	Read Mode = iota
	Write
)

// Verdict is the result of a wait, or of the check before an operation.
type Verdict uint8

// The verdicts.
const (
	Try      Verdict = iota // try the operation
	Timeout                 // the deadline has passed
	Closing                 // Evict was called
	Shutdown                // the scheduler is ending
	Drained                 // the scheduler is draining; for WaitForRequest alone
)

func (pd *PollDesc) gate(m Mode) *gate {
	if m == Read {
		return &pd.read
	}
	return &pd.write
}

// Check reports whether an operation in direction m may be tried now. Any
// thread. The common case is inlined.
func (pd *PollDesc) Check(m Mode) Verdict {
	if pd.flags.Load()&^flagReadOn != 0 {
		return pd.checkSlow(m)
	}
	return Try
}

func (pd *PollDesc) checkSlow(m Mode) Verdict {
	if pd.flags.Load()&(flagClosing|flagDetached) != 0 {
		if pd.flags.Load()&flagClosing != 0 {
			return Closing
		}
		return Shutdown
	}
	if d := pd.gate(m).deadline.Load(); d != 0 && d <= clock.Real() {
		return Timeout
	}
	if pd.isListener() && pd.draining() {
		return Shutdown
	}
	return Try
}

// draining reports whether the fd's group is ending or has ended.
func (pd *PollDesc) draining() bool {
	if g := pd.group(); g != nil {
		return g.Phase() >= Draining
	}
	return pd.orphaned()
}

// SetListener marks the fd as a listener's. It is called before the fd's first
// use.
func (pd *PollDesc) SetListener() { pd.flags.Or(flagListener) }

// isListener reports whether SetListener was called.
func (pd *PollDesc) isListener() bool { return pd.flags.Load()&flagListener != 0 }

// group returns the group whose end ends the fd's waits, or nil.
func (pd *PollDesc) group() *Group {
	if p := pd.home.Load(); p != nil {
		return p.group
	}
	if o := pd.goroutine.Load(); o != nil {
		return o.group()
	}
	if d := byDefault.Load(); pd.opened == d.number {
		return d.group
	}
	return nil
}

// Opened notes that the fd has just been opened. The next end of the default
// Scheduler is the fd's too, if nothing has waited for the fd by then.
func (pd *PollDesc) Opened() { pd.opened = byDefault.Load().number }

// orphaned reports whether the default Scheduler has ended since Opened, and
// none has been started since. Precondition: group returned nil.
func (pd *PollDesc) orphaned() bool {
	return pd.opened != 0 && pd.opened != byDefault.Load().number && runningGroup() == nil
}

// Clear clears the mark of an edge, before an operation that acts on the edge,
// and reports whether the mark was set. The direction's owner only.
func (pd *PollDesc) Clear(m Mode) bool {
	g := pd.gate(m)
	return g.w.Load() == readyW && g.w.CompareAndSwap(readyW, nil)
}

// Edge reports whether an edge has come since Clear, so that an operation is
// worth a try. Flags that stay set do not count; otherwise a waiter would not
// wait after EAGAIN: urgent data and many errors leave nothing to read.
func (pd *PollDesc) Edge(m Mode) bool { return pd.gate(m).w.Load() == readyW }

// ReadOn reports whether a short read may leave something to read, so that only
// EAGAIN means that there is nothing. It is called after the read: an event
// that comes later sets the mark of an edge, if there is data to read.
func (pd *PollDesc) ReadOn() bool { return pd.flags.Load()&flagReadOn != 0 }

// Bound reports whether the fd is registered, so that edges announce new data.
func (pd *PollDesc) Bound() bool {
	return pd.home.Load() != nil || pd.goroutineRegistration() != nil
}

// EdgesTwice reports whether each edge may come twice, since several Processors
// watch the fd, or the goroutine poller too. The second may announce data that
// has been read since.
func (pd *PollDesc) EdgesTwice() bool {
	return pd.Shared() || pd.goroutineRegistration() != nil
}

// Shared reports whether a domain watches the fd. Then events do not say that
// the peer has closed its side, nor that urgent data has come, so ReadOn may
// miss both.
func (pd *PollDesc) Shared() bool { return pd.shared.Load() != nil }

// SetDeadline sets the time when waits in direction m end, in ns of
// CLOCK_MONOTONIC; 0 is never. It wakes a waiter, which then checks the
// deadline.
func (pd *PollDesc) SetDeadline(m Mode, deadline int64) {
	g := pd.gate(m)
	g.deadline.Store(deadline)
	if deadline != 0 && pd.flags.Load()&flagTimed == 0 {
		pd.flags.Or(flagTimed)
	}
	g.unblock()
}

// Unblock wakes a waiter in direction m, which then tries again.
func (pd *PollDesc) Unblock(m Mode) { pd.gate(m).unblock() }

// Evict makes every wait, present and future, return Closing. It returns the
// number of waiters. Each returns Closing from Wait, or is a Watch that is
// woken.
func (pd *PollDesc) Evict() (waiting int) {
	pd.flags.Or(flagClosing)
	for _, g := range []*gate{&pd.read, &pd.write} {
		if w := g.takeWaiter(); w != nil {
			w.Wake()
			waiting++
		}
	}
	return waiting
}

// detach makes every wait, present and future, return Shutdown: the Processor
// that the fd is registered with is ending.
func (pd *PollDesc) detach() {
	pd.flags.Or(flagDetached)
	pd.unblock()
}

// unblock wakes the waiters of both directions.
func (pd *PollDesc) unblock() {
	pd.read.unblock()
	pd.write.unblock()
}

// unblock wakes the waiter, if any, to try again.
func (g *gate) unblock() {
	if w := g.takeWaiter(); w != nil {
		w.Wake()
	}
}

// MarkReady sets the mark of an edge in direction m and wakes the waiter, as an
// event does, for a condition that is not the fd's own. A waiter that clears
// the mark before it checks that condition misses nothing. Any thread.
func (pd *PollDesc) MarkReady(m Mode) { pd.gate(m).setReady(nil) }

// hasWaiter reports whether there is a waiter.
func (g *gate) hasWaiter() bool {
	w := g.w.Load()
	return w != nil && w != readyW
}

// takeWaiter takes the waiter out, if any.
func (g *gate) takeWaiter() *coroutine.Waiter {
	for {
		w := g.w.Load()
		if w == nil || w == readyW {
			return nil
		}
		if g.w.CompareAndSwap(w, nil) {
			return w
		}
	}
}

// onEvent acts on an event, on the thread of p; nil is the goroutine poller.
func (pd *PollDesc) onEvent(p *Processor, events epoller.Events) {
	if events.ReadOn() && !pd.ReadOn() {
		pd.flags.Or(flagReadOn) // before the waiter is woken
	}
	if events.Readable() {
		pd.read.setReady(p)
	}
	if events.Writable() {
		pd.write.setReady(p)
	}
}

// setReady sets the mark of an edge, and wakes the waiter, if any. p is as for
// onEvent.
func (g *gate) setReady(p *Processor) {
	for {
		w := g.w.Load()
		if w == readyW {
			return
		}
		if w == nil {
			if g.w.CompareAndSwap(nil, readyW) {
				return
			}
			continue
		}
		if g.w.CompareAndSwap(w, readyW) {
			if p != nil {
				p.ex.Wake(w)
			} else {
				w.Wake()
			}
			return
		}
	}
}

// Wait parks the caller, a coroutine or a goroutine, until direction m may be
// possible, its deadline passes, or Evict is called. It does not park if the
// mark of an edge is set. The fd is registered with the caller's Processor if
// it has no home, and for a goroutine with the goroutine poller. Try may be
// early, and is also returned at until (CLOCK_MONOTONIC ns), unless until is 0.
// The error is from registering the fd.
func (pd *PollDesc) Wait(fd int, m Mode, reason coroutine.Reason, until int64) (Verdict, error) {
	return pd.WaitFrom(Current(), fd, m, reason, until)
}

// WaitFrom is Wait for a caller that has p from Current and has not been left
// behind since.
func (pd *PollDesc) WaitFrom(
	p *Processor, fd int, m Mode, reason coroutine.Reason, until int64,
) (Verdict, error) {
	return pd.waitFrom(p, fd, m, reason, until, false)
}

// WaitForRequest is WaitFrom for a read that may be given up as long as no data
// has come: while the group drains it does not wait, and returns Drained. A
// wait that began before the draining ends with Try.
func (pd *PollDesc) WaitForRequest(p *Processor, fd int) (Verdict, error) {
	return pd.waitFrom(p, fd, Read, coroutine.ReasonRead, 0, true)
}

func (pd *PollDesc) waitFrom(
	p *Processor, fd int, m Mode, reason coroutine.Reason, until int64, request bool,
) (Verdict, error) {
	g := pd.gate(m)
	var w *coroutine.Waiter
	if p != nil {
		w = p.ex.AcquireWaiter()
	}
	if w == nil {
		w = coroutine.AcquireWaiter()
	}
	var err error
	var shared bool
	if w.Coroutine() == nil {
		if !w.InBubble() && pd.goroutineRegistration() == nil {
			err = pd.registerForGoroutine(fd)
		}
		if w.InBubble() || err == errNoPoller {
			w.Release()
			return pd.waitByPoll(fd, m, until)
		}
	} else if m == Read {
		shared, err = pd.register(fd, p, w.Coroutine())
	}
	if err != nil {
		releaseWaiter(w)
		return Try, err
	}
	for !g.w.CompareAndSwap(nil, w) {
		switch g.w.Load() {
		case readyW:
			releaseWaiter(w)
			return Try, nil // the mark stays until Clear
		case nil:
		default:
			panic("netco/processor: two waiters in one direction of an fd")
		}
	}
	if m == Write && w.Coroutine() != nil {
		err = pd.registerWriter(fd, p)
	}
	wake := coroutine.WakeTimeout // the result without a park
	drained := request && pd.draining()
	if err == nil && !drained && pd.Check(m) == Try {
		d := g.deadline.Load()
		if d == 0 || until != 0 && until < d {
			d = until
		}
		if shared {
			wake = pd.parkShared(p, w.Coroutine(), reason, d)
		} else if d == 0 && w.Coroutine() == nil {
			wake = parkGoroutine(w, reason)
		} else if d == 0 {
			wake = w.Park(reason)
		} else {
			wake = w.ParkUntil(reason, d)
		}
	}
	if g.w.Load() == w && g.w.CompareAndSwap(w, nil) {
		// No waker took it out: the park ended otherwise, or by a wake for an
		// earlier park.
	} else if wake != coroutine.WakeReady {
		w.Drain()
	}
	releaseWaiter(w)
	if err != nil {
		return Try, err
	}
	if to := pd.to.Load(); to != nil && m == Read {
		pd.follow(fd, to)
	}
	if wake == coroutine.WakeShutdown {
		return Shutdown, nil
	}
	if v := pd.Check(m); v != Try || !drained {
		return v, nil
	}
	return Drained, nil
}

// releaseWaiter releases a waiter that was in no list. A coroutine's waiter
// then has nothing to clear.
func releaseWaiter(w *coroutine.Waiter) {
	if w.Coroutine() == nil {
		w.Release()
	}
}

// bind registers fd with the Processor of the caller, a coroutine, if it has no
// home.
func (pd *PollDesc) bind(fd int) error {
	p := Current()
	pd.mu.Lock()
	defer pd.mu.Unlock()
	return pd.bindLocked(fd, p)
}

func (pd *PollDesc) bindLocked(fd int, p *Processor) error {
	if pd.home.Load() != nil || pd.flags.Load()&flagClosing != 0 {
		return nil
	}
	reg, err := p.ep.Register(fd, pd)
	if errors.Is(err, epoller.ErrClosed) {
		pd.flags.Or(flagDetached)
		return nil
	}
	if err != nil {
		return err
	}
	pd.reg = reg
	pd.home.Store(p)
	if !p.alive.Load() {
		pd.flags.Or(flagDetached) // p ended meanwhile and may not have seen this fd
	}
	return nil
}

// Unbind ends the registration, before fd is closed. Precondition: no waiter,
// present or future.
func (pd *PollDesc) Unbind() {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.eachRegLocked(func(p *Processor, reg epoller.Registration) { p.ep.Release(reg) })
	if o := pd.goroutineRegistration(); o != nil {
		o.at.release(o.reg)
	}
}

// Deregister takes fd out of epoll, before Unbind. It is for an fd with
// duplicates: closing it would leave it registered.
func (pd *PollDesc) Deregister(fd int) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.eachRegLocked(func(p *Processor, _ epoller.Registration) { p.ep.Remove(fd) })
	if o := pd.goroutineRegistration(); o != nil {
		o.at.ep.Remove(fd)
	}
}

// Waiter returns the id of the coroutine that waits in direction m, or 0 if
// none does. Any thread; the wait may be over by then.
func (pd *PollDesc) Waiter(m Mode) uint64 {
	g := pd.gate(m)
	for {
		w := g.w.Load()
		if w == nil || w == readyW || w.Coroutine() == nil {
			return 0
		}
		id := w.Coroutine().ID()
		// The struct may have been reused meanwhile. If its Waiter is still
		// there, under the same id, this coroutine waited.
		if g.w.Load() == w && w.Coroutine().ID() == id {
			return id
		}
	}
}

// Watched reports whether a Watch, and not a coroutine, waits for the fd. Any
// thread; the wait may be over by then.
func (pd *PollDesc) Watched() bool {
	w := pd.read.w.Load()
	if w == nil || w == readyW {
		return false
	}
	_, ok := w.Hook().(*Watch) // otherwise it is a pollWait
	return ok
}

// Home returns the Processor with which the fd is registered, or nil.
func (pd *PollDesc) Home() *Processor { return pd.home.Load() }
