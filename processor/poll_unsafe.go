package processor

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/inside"
)

// PollDesc is an fd as its waiters see it: which of its two directions may be possible, who waits for it, until when.
// It is embedded in what owns the fd, which serialises its readers among themselves and its writers among themselves.
//
// Each direction has a word (gate.w):
//
//	nil      nothing is known; a waiter may publish itself
//	readyW   an edge has come since the word was last cleared
//	*Waiter  one coroutine or goroutine waits, or a Watch; or one that is inTransit
//
//	nil → *Waiter       the waiter, then it checks once more whether it should wait at all
//	nil → readyW        the Processor, on an event
//	*Waiter → readyW    the Processor, on an event; it then wakes the waiter
//	*Waiter → nil       SetDeadline, Evict and the like, which then wake the waiter; or the waiter itself, when its park ended
//	                    for another reason
//	readyW → nil        the waiter, before the operation whose failure would make it wait
//
// An edge always leaves its mark, also when it finds a waiter: that may be on its way out for a deadline and not look.
// Who takes a waiter out wakes it, once. A wake means "look again", not "ready": deadlines, closing and draining are
// conditions that the waiter checks, and moving them just wakes it.
type PollDesc struct {
	read, write gate
	flags       atomic.Uint32
	Owner       any                          // constant: what it is part of, for PollDescs; nil by default
	home        atomic.Pointer[Processor]    // set by bind and move, under mu: watches it for coroutines
	to          atomic.Pointer[Processor]    // where its reader is to take it, see migrate.go; nil for nowhere
	outer       atomic.Pointer[outerBinding] // set by bindOuter, under mu: watches it for goroutines outside bubbles
	mu          inside.Mutex
	reg         epoller.Registration // under mu: with home
}

// gate is one direction.
type gate struct {
	w        atomic.Pointer[coroutine.Waiter]
	deadline atomic.Int64 // CLOCK_MONOTONIC ns; 0: none
}

// readyW marks a direction as ready.
var readyW = new(coroutine.Waiter)

// flags
const (
	flagReadOn   = 1 << iota // a short read says nothing any more, see epoller.Events.ReadOn: only EAGAIN does
	flagClosing              // Evict was called
	flagOrphan               // its Processor has ended
	flagListener             // constant: it waits for connections, which end when draining begins
	flagTimed                // a deadline has been set at some time
)

// Mode is a direction.
type Mode uint8

// The directions.
const (
	Read Mode = iota
	Write
)

// Verdict is how a wait, or the look before an operation, came out.
type Verdict uint8

// The verdicts.
const (
	Ready    Verdict = iota // try the operation
	Timeout                 // the deadline has passed
	Closing                 // Evict was called
	Shutdown                // the scheduler is ending
)

func (pd *PollDesc) gate(m Mode) *gate {
	if m == Read {
		return &pd.read
	}
	return &pd.write
}

// Check reports whether an operation in direction m may be tried now. Any
// thread. It is inlined, but for what takes a closer look.
func (pd *PollDesc) Check(m Mode) Verdict {
	if pd.flags.Load()&^flagReadOn != 0 {
		return pd.checkSlow(m)
	}
	return Ready
}

func (pd *PollDesc) checkSlow(m Mode) Verdict {
	if pd.flags.Load()&(flagClosing|flagOrphan) != 0 {
		if pd.flags.Load()&flagClosing != 0 {
			return Closing
		}
		return Shutdown
	}
	if d := pd.gate(m).deadline.Load(); d != 0 && d <= clock.Real() {
		return Timeout
	}
	if pd.Listener() {
		if g := pd.group(); g != nil && g.Phase() >= Draining {
			return Shutdown
		}
	}
	return Ready
}

// SetListener says that the fd waits for connections. Before its first use.
func (pd *PollDesc) SetListener() { pd.flags.Or(flagListener) }

// Listener reports whether SetListener was called.
func (pd *PollDesc) Listener() bool { return pd.flags.Load()&flagListener != 0 }

// group is the one whose end is the fd's too, or nil.
func (pd *PollDesc) group() *Group {
	if p := pd.home.Load(); p != nil {
		return p.group
	}
	if o := pd.outer.Load(); o != nil {
		return o.group()
	}
	return nil
}

// Clear forgets an edge that has come, before an operation that would meet what it announced, and reports whether there was
// one. Its direction's owner only.
func (pd *PollDesc) Clear(m Mode) bool {
	g := pd.gate(m)
	return g.w.Load() == readyW && g.w.CompareAndSwap(readyW, nil)
}

// Edge reports whether an edge has come since Clear, so that an operation is
// worth a try. No lasting mark counts, or a waiter after EAGAIN would not
// wait: urgent data, and many an error, leave nothing to read.
func (pd *PollDesc) Edge(m Mode) bool { return pd.gate(m).w.Load() == readyW }

// ReadOn reports whether a short read no longer means that there is no more for
// the moment: then only EAGAIN does. To be asked after the read: an event that
// comes later leaves the mark of an edge, if there is something to read.
func (pd *PollDesc) ReadOn() bool { return pd.flags.Load()&flagReadOn != 0 }

// Bound reports whether the fd is registered, so that an edge will tell of whatever comes.
func (pd *PollDesc) Bound() bool { return pd.home.Load() != nil || pd.outer.Load() != nil }

// SetDeadline sets when waits in direction m end, in ns of CLOCK_MONOTONIC; 0 is never. A waiter looks again at once.
func (pd *PollDesc) SetDeadline(m Mode, deadline int64) {
	g := pd.gate(m)
	g.deadline.Store(deadline)
	if deadline != 0 && pd.flags.Load()&flagTimed == 0 {
		pd.flags.Or(flagTimed)
	}
	g.kick()
}

// Kick makes a waiter in direction m look again.
func (pd *PollDesc) Kick(m Mode) { pd.gate(m).kick() }

// Evict makes every wait, present and future, return Closing. It returns how many were waiting: they come back from Wait, or a Watch is
// woken, with Closing and nothing else.
func (pd *PollDesc) Evict() (waiting int) {
	pd.flags.Or(flagClosing)
	for _, g := range []*gate{&pd.read, &pd.write} {
		if w := g.takeOut(); w != nil {
			w.Wake()
			waiting++
		}
	}
	return waiting
}

// Orphan makes every wait, present and future, return Shutdown: the Processor that watches the fd is ending.
func (pd *PollDesc) Orphan() {
	pd.flags.Or(flagOrphan)
	pd.kick()
}

func (pd *PollDesc) kick() {
	pd.read.kick()
	pd.write.kick()
}

// kick wakes a waiter, if there is one, to look again.
func (g *gate) kick() {
	if w := g.takeOut(); w != nil {
		w.Wake()
	}
}

// takeOut takes the waiter out, if there is one.
func (g *gate) takeOut() *coroutine.Waiter {
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

// happened acts on an event, on the thread of p; nil is the lookout.
func (pd *PollDesc) happened(p *Processor, events epoller.Events) {
	if events.ReadOn() && !pd.ReadOn() {
		pd.flags.Or(flagReadOn) // before the waiter looks
	}
	if events.Readable() {
		pd.read.open(p)
	}
	if events.Writable() {
		pd.write.open(p)
	}
}

func (pd *PollDesc) prefetch() { asm.Prefetch(uintptr(unsafe.Pointer(pd))) }

// prefetchWaiter brings closer the coroutine that waits to read.
func (pd *PollDesc) prefetchWaiter() { asm.Prefetch(uintptr(unsafe.Pointer(pd.read.w.Load()))) }

// prefetch brings closer what the next coroutine to begin with a Watch will touch, and the Watch after that.
func (q *wokenWatches) prefetch() {
	if w := q.first; w != nil {
		w.Hook().(*Watch).pd.prefetch()
		asm.Prefetch(uintptr(unsafe.Pointer(w.Link)))
	}
}

// open wakes the waiter or leaves the mark that an edge has come.
func (g *gate) open(p *Processor) {
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

// Wait parks the caller, coroutine or goroutine, unless an edge has left its
// mark, until direction m may be possible, its deadline passes, or it is
// evicted. The fd is registered with the caller's Processor if it is with none,
// and for a goroutine with the lookout. Ready may be early; it is also the
// answer at until (CLOCK_MONOTONIC ns), if that is not 0. An error is that of
// registering.
func (pd *PollDesc) Wait(fd int, m Mode, reason coroutine.Reason, until int64) (Verdict, error) {
	return pd.WaitFrom(Here(), fd, m, reason, until)
}

// WaitFrom is Wait for a caller to which Here has returned p, and which may not
// have been left behind since.
func (pd *PollDesc) WaitFrom(p *Processor, fd int, m Mode, reason coroutine.Reason, until int64) (Verdict, error) {
	g := pd.gate(m)
	var w *coroutine.Waiter
	if p != nil {
		w = p.ex.AcquireWaiter()
	}
	if w == nil {
		w = coroutine.AcquireWaiter()
	}
	var err error
	if w.Coroutine() == nil {
		if !w.InBubble() && pd.outer.Load() == nil {
			err = pd.bindOuter(fd)
		}
		if w.InBubble() || err == errNoLookout {
			w.Release()
			return pd.waitAlone(fd, m, until)
		}
	} else if home := pd.home.Load(); home == nil {
		err = pd.bind(fd)
	} else if home != p && m == Read && w.Coroutine().Moved() {
		pd.fetch(fd, home)
	}
	if err != nil {
		releaseWaiter(w)
		return Ready, err
	}
	for !g.w.CompareAndSwap(nil, w) {
		switch g.w.Load() {
		case readyW:
			releaseWaiter(w)
			return Ready, nil // the mark stays until Clear
		case nil:
		default:
			panic("netco/processor: two waiters in one direction of an fd")
		}
	}
	wake := coroutine.WakeTimeout // not parked, not woken
	if pd.Check(m) == Ready {
		d := g.deadline.Load()
		if d == 0 || until != 0 && until < d {
			d = until
		}
		if d == 0 {
			wake = w.Park(reason)
		} else {
			wake = w.ParkUntil(reason, d)
		}
	}
	if g.w.Load() == w && g.w.CompareAndSwap(w, nil) {
		// Nobody took it out: the park ended otherwise, or by a wake that was meant for an earlier one.
	} else if wake != coroutine.WakeReady {
		w.Drain()
	}
	releaseWaiter(w)
	if to := pd.to.Load(); to != nil && m == Read {
		pd.follow(fd, to)
	}
	if wake == coroutine.WakeShutdown {
		return Shutdown, nil
	}
	return pd.Check(m), nil
}

// releaseWaiter gives a waiter back of which only the address was used: of a
// coroutine's there is nothing to clear.
func releaseWaiter(w *coroutine.Waiter) {
	if w.Coroutine() == nil {
		w.Release()
	}
}

// bind registers fd with the Processor of the caller, a coroutine.
func (pd *PollDesc) bind(fd int) error {
	p := Here()
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.home.Load() != nil || pd.flags.Load()&flagClosing != 0 {
		return nil
	}
	reg, err := p.ep.Register(fd, pd)
	if errors.Is(err, epoller.ErrClosed) {
		pd.flags.Or(flagOrphan)
		return nil
	}
	if err != nil {
		return err
	}
	pd.reg = reg
	pd.home.Store(p)
	if !p.alive.Load() {
		pd.flags.Or(flagOrphan) // it ended meanwhile and may not have seen this fd
	}
	return nil
}

// Unbind ends the registration, before fd is closed. Nobody waits and nobody will.
func (pd *PollDesc) Unbind() {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if p := pd.home.Load(); p != nil {
		p.ep.Release(pd.reg)
	}
	if o := pd.outer.Load(); o != nil {
		o.at.release(o.reg)
	}
}
