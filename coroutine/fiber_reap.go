package coroutine

import (
	"runtime"
	"sync"

	"github.com/netco-go/netco/asm"
)

// abandoned is told that nobody can resume t any more. It runs on a goroutine of the runtime's that must not be held up.
func abandoned(t *fiber) {
	switch ex := t.w.ex; {
	case ex != nil: // if it is not a Reaper, ReapAll finds t
		if r, ok := ex.host.(Reaper); ok {
			r.Reap(t.reap) // each on its own: its deferred calls may park, or panic
		}
	case t.bubble: // only its bubble could resume it, which ends by saying that t is left
	case t.made == 0:
		go t.reap()
	case asm.LocksKnown():
		orphans.add(t)
	} // else it stays: nobody can tell that he is locked as its maker was
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
		t.endIdle(nil)
	}
}

// trimFibers ends idle ones until keep are left. Owner only, on the loop.
func (ex *Executor) trimFibers(keep int) {
	for len(ex.hands) > keep {
		t := ex.hands[0].t
		ex.hands[0] = nil
		ex.hands = ex.hands[1:]
		if t.started {
			t.endIdle(nil)
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
