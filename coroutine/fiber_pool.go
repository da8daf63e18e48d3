package coroutine

import (
	"runtime"
	"sync"

	"github.com/netco-go/netco/asm"
)

// shell is what Fiber values hold of a fiber. A suspended goroutine's stack is never collected; the shell is, and then its cleanup
// ends the goroutine. So nothing on that side may hold the shell; while the fiber runs,
// its resumer's Resume does.
type shell struct{ t *fiber }

func newShell(t *fiber) *shell {
	s := &shell{t}
	runtime.AddCleanup(s, abandoned, t)
	return s
}

// idleFibers are the idle ones of ordinary goroutines that are not locked to a thread. What a sync.Pool drops is collected, which
// ends the goroutine.
var idleFibers sync.Pool

// maker is who makes a coroutine.
type maker struct {
	w        *worker // nil for an ordinary goroutine
	g, locks uintptr
}

// conceive finds a fiber for a new life, or makes one.
func conceive() (*shell, maker) {
	m := maker{w: self()}
	m.g, m.locks = asm.Where()
	var ex *Executor
	var s *shell
	if m.w != nil && m.w.ex != nil {
		ex = m.w.ex
		s = ex.idleFiber(m.locks)
	} else if m.locks == 0 {
		s, _ = idleFibers.Get().(*shell)
	} else {
		reapOrphans(m.locks)
	}
	if s == nil {
		t := new(fiber)
		t.w.ex, t.w.fiber = ex, t
		s = newShell(t)
	}
	return s, m
}

// born begins a life, and returns its id.
func (h *hand) born(m maker) uint64 {
	t := h.t
	h.locks, h.begun = m.locks, false
	t.of = h
	if t.started {
		t.met(m.w, m.g)
	}
	if inheriting.Load() != 0 {
		inheritLocals(&t.locals)
	}
	if ex := t.w.ex; ex != nil {
		h.id.Set(ex.newID())
		return h.id.Own()
	}
	h.root.Set(rootOf(m.w, m.g))
	if t.ids.next == t.ids.end {
		t.ids.end = lastID.Add(idBlock) + 1
		t.ids.next = t.ids.end - idBlock
	}
	t.ids.next++
	h.id.Set(t.ids.next - 1)
	return h.id.Own()
}

// rootOf returns the ordinary goroutine that g is, or that drives the fiber that g runs.
func rootOf(w *worker, g uintptr) uint64 {
	if w != nil && w.fiber != nil && w.fiber.of != nil {
		return w.fiber.of.root.Own()
	}
	return uint64(g)
}

// newID takes a number from the executor's block. Owner only.
func (ex *Executor) newID() uint64 {
	if ex.ids.next == ex.ids.end {
		ex.ids.end = lastID.Add(idBlock) + 1
		ex.ids.next = ex.ids.end - idBlock
	}
	ex.ids.next++
	return ex.ids.next - 1
}

// idleFiber takes the one used last, or nil.
func (ex *Executor) idleFiber(locks uintptr) *shell {
	n := len(ex.hands) - 1
	if n < 0 || locks != ex.locks {
		return nil
	}
	s := ex.hands[n]
	ex.hands[n] = nil
	ex.hands = ex.hands[:n]
	return s
}

// poolable reports whether an idle t would be kept.
func poolable(t *fiber) bool { return t.w.ex == nil || len(t.w.ex.hands) < t.w.ex.keep }

// settle is the resumer's part of a life's end: it gives the fiber back and passes on how the life ended. s is nil for one that was
// abandoned.
func (t *fiber) settle(s *shell) error {
	failure, why := t.failure, t.event
	t.failure, t.event = nil, eventYield
	t.recycle(s, why)
	if failure != nil {
		panic(failure)
	}
	if why == eventGoexit {
		return ErrGoexit
	}
	return nil
}

// recycle puts a fiber without a life where the next is found, or where the loop ends it.
func (t *fiber) recycle(s *shell, why event) {
	if t.w.gone {
		return
	}
	ex := t.w.ex
	switch {
	case why == eventGoexit || !t.fit() || !poolable(t):
		if t.started {
			ex.doomed = append(ex.doomed, t) // without an executor it would have been direct
		}
	case s == nil:
		t.recycle(newShell(t), why)
	case ex != nil:
		ex.hands = append(ex.hands, s)
	case t.started:
		idleFibers.Put(s)
	}
}

// cancel is Fiber.Cancel. With a nil shell nobody can say any more that it is dead.
func (h *hand) cancel(s *shell) error {
	err := h.check()
	t := h.t
	if err == nil && !h.begun {
		t.locals = localValues{}
		t.of = nil
		h.id.Set(0)
		t.last.over()
		t.recycle(s, eventReturn)
		return nil
	}
	if err == nil {
		err = h.enter()
	}
	if err != nil {
		return err
	}
	t.cancelled = true
	t.switchTo()
	t.last.over()
	if err := t.settle(s); err != ErrGoexit {
		return err
	}
	return nil
}

// abandoned is told that nobody can resume t any more. It runs on a goroutine of the runtime's that must not be held up.
func abandoned(t *fiber) {
	switch ex := t.w.ex; {
	case ex != nil: // if it is not a Reaper, ReapAll finds t
		if r, ok := ex.host.(Reaper); ok {
			r.Reap(t.reap) // each on its own: its deferred calls may park, or panic
		}
	case t.made == 0:
		go t.reap()
	default:
		orphans.add(t)
	}
}

// Reaper is a Host that can start coroutines from any thread.
type Reaper interface {
	// Reap starts a coroutine on the executor's thread, if that has not ended.
	Reap(fn func())
}

// ReapAll cancels all coroutines driven by hand that are suspended here: the thread is about to end. To be run as a coroutine of the
// executor, after Stop.
func (ex *Executor) ReapAll() {
	for t := ex.suspended(); t != nil; t = ex.suspended() {
		t.reapLocked()
	}
}

// reapLocked is reap for a fiber that may have been made under more thread locks than the loop's: they are taken again meanwhile,
// since after Stop nothing parks under them. One made under fewer is given up.
func (t *fiber) reapLocked() {
	want := t.of.locks
	const most = 64
	for n := range most {
		if _, locks := asm.Where(); locks == want {
			t.reap()
			return
		}
		if n == most-1 {
			t.lost = true
			return
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
}

// Suspended reports whether there are coroutines driven by hand that are suspended. Owner only.
func (ex *Executor) Suspended() bool { return ex.suspended() != nil }

func (ex *Executor) suspended() *fiber {
	for _, t := range ex.fibers {
		if t.of != nil && t.of.begun && !t.running && !t.lost {
			return t
		}
	}
	return nil
}

// reap ends t, which nobody can resume: its life, if it has one, or its idle goroutine.
func (t *fiber) reap() {
	switch h := t.of; {
	case t.w.gone || !t.started:
	case h != nil:
		if t.w.ex == nil {
			h.root.Set(rootOf(self(), asm.Getg()))
		}
		h.cancel(nil)
	case t.w.ex == nil:
		t.by, t.byG, t.from = nil, 0, &t.back
		t.switchTo() // finds no life, and ends
	}
}

// bury ends doomed goroutines. Owner only, on the loop.
func (ex *Executor) bury() {
	for n := len(ex.doomed); n > 0; n = len(ex.doomed) {
		t := ex.doomed[n-1]
		ex.doomed[n-1] = nil
		ex.doomed = ex.doomed[:n-1]
		ex.end(t)
	}
}

// end lets the goroutine of an idle fiber end. Owner only, on the loop.
func (ex *Executor) end(t *fiber) {
	t.by, t.from = nil, &ex.loop
	ex.loop.Resume(&t.w.ctx)
}

// trimFibers ends idle ones until keep are left. Owner only, on the loop.
func (ex *Executor) trimFibers(keep int) {
	ex.bury()
	for len(ex.hands) > keep {
		t := ex.hands[0].t
		ex.hands[0] = nil
		ex.hands = ex.hands[1:]
		if t.started {
			ex.end(t)
		}
	}
}

// orphans are abandoned fibers of goroutines that were locked to their threads, by those locks: nobody else can end them.
var orphans orphanage

type orphanage struct {
	mu   sync.Mutex
	list map[uintptr][]*fiber // under mu
}

func (o *orphanage) add(t *fiber) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list == nil {
		o.list = map[uintptr][]*fiber{}
	}
	o.list[t.made] = append(o.list[t.made], t)
}

// reapOrphans ends those made under the caller's thread locks.
func reapOrphans(locks uintptr) {
	orphans.mu.Lock()
	list := orphans.list[locks]
	delete(orphans.list, locks)
	orphans.mu.Unlock()
	for _, t := range list {
		t.reap()
	}
}
