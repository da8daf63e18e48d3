package sync

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// RWMutex is a reader/writer lock: any number of readers or one writer holds
// it. The zero value is unlocked. It must not be copied after first use.
//
// A writer that has waited for readers for more than a millisecond stops new
// ones, and an Unlock lets in all readers that wait before the next writer. So
// neither starves, and a coroutine that holds the lock for reading must not
// lock it for reading once more, as with the standard's. Writers are served
// among one another as by a [Mutex].
//
// A coroutine may park while it holds the lock, and another may unlock it.
type RWMutex struct {
	w        Mutex        // held by a writer, also while it waits for readers
	readers  atomic.Int64 // atomic: count, draining, queued
	since    atomic.Int64 // atomic: when draining began, in ns of internal/clock
	guard    waitq.Guard
	reading  waitq.Queue // under guard: readers that wait
	draining waitq.Queue // under guard: the writer that waits for readers
}

// A writer locks w, which stops new readers, and then loads readers: it has the
// lock once the count is 0. A reader adds itself to the count and then loads
// the state of w: it has the lock if w is free. Each writes its own word before
// it reads the other's, so a reader and a writer never both have the lock.
//
// A writer that parks until the readers leave sets draining. Until it runs
// again, which may be long after that, other readers may pass: the writer ends
// draining and then looks for them. Once it is starved, no reader passes.
//
// A reader that found w locked, and may not pass, is pending: it subtracts its
// 1 again before it waits.
//
//	63 ... 2  1         0
//	count     draining  queued
//
//	from        to             by                                       guard
//	count       count+1        RLock                                    free
//	count       count-1        RUnlock; a pending reader, if count > 0  free
//	            draining       the holder of w, before it queues        free
//	draining    not draining   that writer: the taker of the last 1     free
//	                           has woken it, or it gives up
//	            queued         a reader, which queues                   held
//	queued      count+n, not   the holder of w, before it unlocks it    held
//	            queued         or drains: all n readers in the queue
//	                           have the lock
//	queued      not queued     the last reader in the queue, as it      held
//	                           gives up
//
// No reader is left waiting: a reader that sets queued then tries to lock w, to
// let in all readers in the queue, and so does a writer that finds queued after
// it has unlocked w. If the attempt fails, the other holder of w lets them in.
//
// An RUnlock without its RLock subtracts 1 from the count, too. If that makes
// the count negative, RUnlock adds the 1 again and panics; readers that are let
// in before that add it again too. If the 1 was that of a reader or a pending
// reader, the misuse goes unnoticed and that reader loses its lock, as with any
// lock that counts. Whatever the misuse, the count ends at 0.
const (
	readersQueued int64 = 1 << iota
	writerDraining
	oneReader // of the count
)

// Lock locks m for writing. If m is held, a coroutine parks and a goroutine
// blocks until its turn. A forced shutdown ends the waiting coroutine
// ([coroutine.Unwind]).
func (m *RWMutex) Lock() {
	m.w.Lock()
	if m.load() >= oneReader && m.drain(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
	m.raceLocked()
}

// Unlock unlocks m for writing, on any thread. It panics, and changes nothing,
// if m is not locked for writing. It does not park.
func (m *RWMutex) Unlock() {
	m.raceUnlock()
	if m.load()&(readersQueued|writerDraining) != 0 ||
		!m.w.state.CompareAndSwap(quick|locked, quick) {
		m.unlockSlow()
		return
	}
	if m.w.waiters.Load()&unlockServes != 0 {
		m.w.serve()
	}
	if m.load()&readersQueued != 0 {
		m.serve()
	}
}

// RLock locks m for reading, together with other readers. It waits as
// [RWMutex.Lock] does, also while a starved writer waits.
func (m *RWMutex) RLock() {
	if r := m.add(oneReader); r < oneReader || !m.w.isFree() {
		m.rlockSlow(r)
	}
	m.raceRLocked()
}

// RUnlock undoes one RLock, on any thread. It panics if m is not locked for
// reading. It does not park.
func (m *RWMutex) RUnlock() {
	m.raceRUnlock()
	if r := m.add(-oneReader); r < oneReader && r&^readersQueued != 0 {
		m.runlockSlow(r)
	}
}

// TryLock locks m for writing if it is free and has no waiters, and reports
// whether it did. It does not park.
func (m *RWMutex) TryLock() bool {
	if !m.w.TryLock() {
		return false
	}
	if m.loadSlow() >= oneReader {
		m.release()
		return false
	}
	m.raceLocked()
	return true
}

// TryRLock locks m for reading if no writer holds it or waits for it, and
// reports whether it did. It does not park.
func (m *RWMutex) TryRLock() bool {
	return m.w.isFree() && m.tryReading()
}

// RLocker returns a [Locker] whose Lock and Unlock are RLock and RUnlock of m.
func (m *RWMutex) RLocker() Locker { return (*rlocker)(m) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }

// LockTimeout is [RWMutex.Lock] for at most d. It returns nil if it has locked
// m, else os.ErrDeadlineExceeded, or netco.ErrShutdown at a forced shutdown. In
// a coroutine it does not allocate.
func (m *RWMutex) LockTimeout(d time.Duration) error {
	if m.TryLock() {
		return nil
	}
	return within(coroutine.Timeout(d), m.lockLimit)
}

// LockContext is [RWMutex.Lock] until ctx is done. It returns nil if it has
// locked m, else ctx.Err(), or netco.ErrShutdown at a forced shutdown. It
// allocates when it waits.
func (m *RWMutex) LockContext(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	return within(coroutine.Context(ctx), m.lockLimit)
}

// RLockTimeout is [RWMutex.RLock] for at most d. It returns as
// [RWMutex.LockTimeout] does.
func (m *RWMutex) RLockTimeout(d time.Duration) error {
	if m.TryRLock() {
		return nil
	}
	return within(coroutine.Timeout(d), m.rlockLimit)
}

// RLockContext is [RWMutex.RLock] until ctx is done. It returns as
// [RWMutex.LockContext] does.
func (m *RWMutex) RLockContext(ctx context.Context) error {
	if m.TryRLock() {
		return nil
	}
	return within(coroutine.Context(ctx), m.rlockLimit)
}

// lockLimit locks m for writing within limit. It returns WakeReady if it locked
// m.
func (m *RWMutex) lockLimit(limit coroutine.Limit) coroutine.Wake {
	why := m.w.lockLimit(limit)
	if why == coroutine.WakeReady {
		why = m.drain(limit)
	}
	if why == coroutine.WakeReady {
		m.raceLocked()
	}
	return why
}

// drain waits within limit until no reader is left, for the holder of w. It
// returns WakeReady if m is locked, else it has unlocked w. A writer that parks
// keeps no reader out, neither in the queue nor running: the coroutines of its
// thread that run before it would all park, one after another.
func (m *RWMutex) drain(limit coroutine.Limit) coroutine.Wake {
	if m.w.spinUntil(m.isDrained, drainPauses) {
		return coroutine.WakeReady
	}
	m.w.holder.Clear() // readers have m
	m.since.Store(clock.Now())
	for {
		if r := m.addSlow(writerDraining); r&readersQueued != 0 && m.passes(r) {
			m.admit()
		}
		why := waitq.Await(coroutine.ReasonLock, limit, &m.guard, m.enqueueWriter, m.leaveDraining)
		left := m.addSlow(-writerDraining) >= oneReader
		if why != coroutine.WakeReady {
			m.release()
			return why
		}
		if !left || m.w.spinUntil(m.isDrained, drainPauses) {
			m.w.note()
			return why
		}
	}
}

// drainPauses are the first pauses of a wait for readers. Most readers hold m
// for about that time.
const drainPauses = 10

// isDrained returns free if no readers are left, else locked, as Mutex.state.
func (m *RWMutex) isDrained() uint32 {
	if m.load() < oneReader {
		return free
	}
	return locked
}

// enqueueWriter queues w and reports true, unless no reader is left.
func (m *RWMutex) enqueueWriter(w *coroutine.Waiter) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	if m.loadSlow() < oneReader {
		return false
	}
	m.draining.Push(w, waitq.AnyKind)
	return true
}

// leaveDraining implements waitq.Leave.
func (m *RWMutex) leaveDraining(w *coroutine.Waiter) { m.draining.Remove(w) }

// drained wakes the writer that waits for readers, as none is left.
func (m *RWMutex) drained() {
	m.guard.Lock()
	m.guard.TakeAll(&m.draining)
	m.guard.Unlock()
}

func (m *RWMutex) unlockSlow() {
	if m.load()&writerDraining != 0 || m.w.isFree() {
		panic(m.misuse("Unlock"))
	}
	m.release()
}

// release unlocks m, which is locked for writing.
func (m *RWMutex) release() {
	if m.loadSlow()&readersQueued != 0 {
		m.admit()
	}
	m.w.unlockSlow()
	m.serve()
}

// admit lets in the readers in the queue. Precondition: the caller has locked
// w, and is about to unlock it, or waits for readers.
func (m *RWMutex) admit() {
	m.guard.Lock()
	m.admitLocked(0)
	m.guard.Unlock()
}

// admitLocked lets in n readers beside those in the queue.
func (m *RWMutex) admitLocked(n int64) {
	for w := m.reading.Front(); w != nil; w = m.reading.Front() {
		m.guard.Take(&m.reading, w)
		n++
	}
	for {
		r := m.loadSlow()
		if m.swap(r, max(r&^readersQueued, 0)+n*oneReader) {
			return
		}
	}
}

// serve lets in the readers in the queue, unless w has a holder, which will do
// so.
func (m *RWMutex) serve() {
	for m.loadSlow()&readersQueued != 0 && m.w.take() {
		m.admit()
		m.w.unlockSlow()
	}
}

// rlockSlow continues an RLock that left r in readers, and found w locked.
func (m *RWMutex) rlockSlow(r int64) {
	if m.passes(r) {
		return
	}
	m.retreat()
	if m.rlockLimit(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// retreat subtracts the 1 of a pending reader.
func (m *RWMutex) retreat() {
	r := m.loadSlow()
	for r >= oneReader && !m.swap(r, r-oneReader) {
		r = m.loadSlow()
	}
	if r&writerDraining != 0 && r < 2*oneReader {
		m.drained()
	}
}

// passes reports whether a reader, whose 1 is in r, passes the writer.
func (m *RWMutex) passes(r int64) bool {
	return r >= oneReader && r&writerDraining != 0 && !starved(m.since.Load())
}

// readState is free if a reader may try for m, else the state of w.
func (m *RWMutex) readState() uint32 {
	if m.passes(m.load() + oneReader) {
		return free
	}
	return m.w.lockState()
}

// tryReading locks m for reading, past a writer that waits, unless a writer
// holds m.
func (m *RWMutex) tryReading() bool {
	if r := m.addSlow(oneReader); r < oneReader ||
		r&writerDraining == 0 && m.w.loadState()&^quick != free {
		m.retreat()
		return false
	}
	m.raceRLocked()
	return true
}

// rlockLimit locks m for reading within limit. It returns WakeReady if it
// locked m.
func (m *RWMutex) rlockLimit(limit coroutine.Limit) coroutine.Wake {
	if (m.readState() == free || m.w.spinUntil(m.readState, drainPauses)) && m.tryReading() {
		return coroutine.WakeReady
	}
	w := waitq.Acquire(limit)
	why := coroutine.WakeReady
	if m.enqueueReader(w) {
		if limit == (coroutine.Limit{}) {
			w.BlockedBy(&m.w.holder)
		}
		why = waitq.Wait(w, coroutine.ReasonLock, limit, &m.guard, m.leaveReadingLocked)
		w.BlockedBy(nil)
	}
	waitq.Release(w)
	if why == coroutine.WakeReady {
		m.raceRLocked()
	}
	return why
}

// enqueueReader queues w and reports true; or, if m.w is free, it locks m for
// reading, for the caller and all readers in the queue.
func (m *RWMutex) enqueueReader(w *coroutine.Waiter) bool {
	m.guard.Lock()
	if m.loadSlow()&readersQueued == 0 {
		m.addSlow(readersQueued) // before w is tried
	}
	if !m.w.take() {
		m.reading.Push(w, waitq.AnyKind)
		m.guard.Unlock()
		return true
	}
	m.admitLocked(1)
	m.guard.Unlock()
	m.w.unlockSlow()
	m.serve()
	return false
}

func (m *RWMutex) leaveReadingLocked(w *coroutine.Waiter) {
	m.reading.Remove(w)
	if m.reading.Empty() {
		m.addSlow(-readersQueued)
	}
}

// runlockSlow continues an RUnlock that left r in readers. Precondition: r is
// negative or has writerDraining.
func (m *RWMutex) runlockSlow(r int64) {
	if r >= 0 {
		m.drained()
		return
	}
	for r < 0 && !m.swap(r, r+oneReader) {
		r = m.loadSlow()
	}
	panic(m.misuse("RUnlock"))
}

// misuse returns the panic message for an op that the state does not allow.
func (m *RWMutex) misuse(op string) string {
	message := "sync: " + op + " of unlocked RWMutex"
	if n := m.load() / oneReader; n > 0 {
		message += fmt.Sprintf(": %d readers have it", n)
	} else if !m.w.isFree() {
		message += ": a writer has it"
	}
	return message
}

// The slow paths' accesses to readers, as steps of waitq.Tracer.
const opReaders waitq.Op = "readers"

func (m *RWMutex) loadSlow() int64 {
	waitq.Step(opReaders)
	return m.load()
}

func (m *RWMutex) swap(old, next int64) bool {
	waitq.Step(opReaders)
	return m.cas(old, next)
}

func (m *RWMutex) addSlow(delta int64) int64 {
	waitq.Step(opReaders)
	return m.add(delta)
}
