package sync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Mutex is a mutual exclusion lock. The zero value is unlocked. It must not be
// copied after first use.
//
// Waiters are served in the order of arrival. A running caller may lock a free
// mutex past them, though: waking another thread takes microseconds, in which a
// short critical section runs a hundred times. A waiter that wakes to a locked
// mutex, and has waited for more than a millisecond or runs on the thread that
// woke it, gets the mutex from the next Unlock. So do the waiters behind it,
// until one has waited for less. The algorithm is that of sync.Mutex, with a
// queue of its own.
//
// A coroutine may park while it holds the mutex, and another may unlock it.
type Mutex struct {
	state   atomic.Uint32 // atomic: free, locked, handoff
	waiters atomic.Uint32 // atomic, written under guard: noWaiters, needsWake, woken, wokenLocal
	barges  atomic.Uint32 // atomic: Unlocks since waiters became wokenLocal
	skip    atomic.Int32  // atomic: waits to go without spinning
	noted   uint32        // holder: Unlocks since handoff, while the holder is noted
	holder  coroutine.Holder
	guard   waitq.Guard
	queue   waitq.Queue // under guard
}

// state says whether the mutex is locked:
//
//	state    meaning                      next
//	free     not locked                   locked, by any caller
//	locked   locked                       free, by Unlock; handoff, by the
//	                                      woken waiter
//	handoff  locked; Unlock passes it on  handoff or, with no waiter left,
//	         to the front of the queue,   locked, by Unlock on behalf of the
//	         which is not empty           front; locked, by a waiter that got
//	                                      it and was not starved, or if the
//	                                      last waiter gives up
//
// quick is a bit beside each of the three: the holder is not noted. Unlock sets
// it after noteFor noted holders; a starved waiter that sets handoff clears it.
// The fast paths know quick and quick|locked only. So a mutex's first holders
// are noted, and the holders after a starved waiter: a mutex in a deadlock is
// likely to be young, or to have had waiters before. Once the mutex is quick,
// notes cost nothing.
//
// waiters says which call wakes the next waiter. All waiters are in the queue,
// except the woken waiter, which is out of the queue and about to try for the
// mutex. waiters changes under the guard only:
//
//	waiters     meaning                     next
//	noWaiters   no waiter, none woken       needsWake, by a waiter that queues
//	needsWake   waiters, none woken:        woken or wokenLocal, by an Unlock
//	            Unlock wakes the front      that finds the mutex free;
//	                                        noWaiters, if the last waiter
//	                                        gives up or gets the mutex
//	woken       a waiter was woken          noWaiters or needsWake, by that
//	                                        waiter: it has locked or is in
//	                                        front again
//	wokenLocal  woken, and it runs on the   as woken; or by the Unlock after
//	            thread of its waker: not    maxBarges others, which gives the
//	            before the waker parks      woken waiter the mutex
//
// While a waiter on another thread is woken, Lock and Unlock cost running
// callers what they cost uncontended.
//
// No waiter is left with a free mutex: a waiter sets needsWake and then loads
// the state once more; Unlock sets the state to free and then loads waiters.
// One of the two sees the other's store. While a waiter is woken, the woken
// waiter will load the state.
//
// A waiter that wakes up to woken or wokenLocal must try for the mutex. In any
// other state a waiter that wakes up has got it. Only one such waiter is under
// way: handoff is set by the woken waiter, and no waiter is woken while the
// mutex is locked.
const (
	free    uint32 = 0
	locked  uint32 = 1
	handoff uint32 = 2
	quick   uint32 = 4 // a bit
)

// noteFor is how many holders are noted before a mutex is quick. A variable for
// tests.
var noteFor uint32 = 256

const (
	noWaiters  uint32 = 0
	needsWake  uint32 = 1
	woken      uint32 = 2
	wokenLocal uint32 = 3

	unlockServes uint32 = 1 // the bit of needsWake and wokenLocal: Unlock has work to do
)

// Lock locks m. If m is locked, a coroutine parks and a goroutine blocks until
// it is free. A forced shutdown ends the waiting coroutine
// ([coroutine.Unwind]). Lock does not allocate.
func (m *Mutex) Lock() {
	if !m.state.CompareAndSwap(quick, quick|locked) {
		m.lockSlow()
	}
}

// Unlock unlocks m, on any thread. It panics, and changes nothing, if m is not
// locked. It does not park.
func (m *Mutex) Unlock() {
	if !m.state.CompareAndSwap(quick|locked, quick) {
		m.unlockSlow()
	} else if m.waiters.Load()&unlockServes != 0 {
		m.serve()
	}
}

// TryLock locks m if it is free, and reports whether it did. It does not park.
func (m *Mutex) TryLock() bool {
	return m.state.CompareAndSwap(quick, quick|locked) || m.tryNoted()
}

// LockTimeout is Lock for at most d. It returns nil if it locked m, else
// os.ErrDeadlineExceeded, or netco.ErrShutdown at a forced shutdown. In a
// coroutine it does not allocate.
func (m *Mutex) LockTimeout(d time.Duration) error {
	if m.TryLock() {
		return nil
	}
	return within(coroutine.Timeout(d), m.lockLimit)
}

// LockContext is Lock until ctx is done. It returns nil if it has locked m,
// else ctx.Err(), or netco.ErrShutdown at a forced shutdown. It allocates
// when it waits.
func (m *Mutex) LockContext(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	return within(coroutine.Context(ctx), m.lockLimit)
}
