package coroutine

import (
	"os"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/goruntime"
)

// HoldersVariable is the environment variable that, set to "on", makes locks
// note their holders.
const HoldersVariable = "NETCO_HOLDERS"

// NotesHolders says whether locks note all their holders, not only the holders
// that package sync always notes. It costs some nanoseconds for each Lock, so
// it is on only in the search for a deadlock and in builds with the race
// detector. Constant once the program's packages are initialised.
var NotesHolders = goruntime.RaceEnabled || os.Getenv(HoldersVariable) == "on"

// Holder is the part of a lock that says which coroutine holds it, for
// Info.Held. The zero value says that the holder is not known.
//
// Owner: the lock's holder, or a waker that has the lock on behalf of a waiter.
// Any thread reads it.
type Holder struct{ id counter.Counter }

// heldByGoroutine is the id of all ordinary goroutines.
const heldByGoroutine = ^uint64(0)

// Note records the caller, which has just taken the lock. It does not park.
func (h *Holder) Note() {
	id := heldByGoroutine
	if w := found(); w != nil {
		if co := w.co.Load(); co != nil {
			id = co.ID()
		}
	}
	h.id.Set(id)
}

// Clear makes the holder unknown: before the lock is given up, or passed on.
func (h *Holder) Clear() { h.id.Set(0) }

// BlockedBy records that w's coroutine is about to wait for the lock that h
// belongs to, and that nothing but the lock ends the wait; nil records that the
// wait is over. For a goroutine's w it does nothing. Owner only.
func (w *Waiter) BlockedBy(h *Holder) {
	if w.co == nil {
		return
	}
	if on := w.co.w.Own(); on != nil {
		on.blockedBy.Set(h)
	}
}

// Held describes the holder of a lock that a coroutine waits for. The zero
// value says that the holder is not known, or that readers have the lock.
type Held struct {
	By        uint64 // the holder's id; it may have ended
	Goroutine bool   // an ordinary goroutine has it
}

// Held returns the holder of the lock that the coroutine was waiting for when i
// was read. Any thread; the lock may have changed hands since.
func (i *Info) Held() Held {
	if i.blockedBy == nil {
		return Held{}
	}
	id := i.blockedBy.id.Load()
	if id == heldByGoroutine {
		return Held{Goroutine: true}
	}
	return Held{By: id}
}
