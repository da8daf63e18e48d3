package rwmutex

import (
	"fmt"
	"runtime"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// The kinds of waiters.
const (
	kindReader uintptr = 1 + iota
	kindWriter
)

func (m *RWMutex) lockUnbounded() {
	if m.lockSlow(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// rlockUnbounded has the precondition of rlockSlow, as has rlockLimit.
func (m *RWMutex) rlockUnbounded() {
	if m.rlockSlow(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

func (m *RWMutex) lockLimit(limit coroutine.Limit) error {
	if why := m.lockSlow(limit); why != coroutine.WakeReady {
		return limit.Err(why)
	}
	m.raceLocked()
	return nil
}

func (m *RWMutex) rlockLimit(limit coroutine.Limit) error {
	if why := m.rlockSlow(limit); why != coroutine.WakeReady {
		return limit.Err(why)
	}
	m.raceRLocked()
	return nil
}

// lockSlow locks m for writing within limit. It returns WakeReady if it has.
func (m *RWMutex) lockSlow(limit coroutine.Limit) coroutine.Wake {
	why := m.awaitLock(limit)
	if why == coroutine.WakeReady {
		m.note()
	}
	return why
}

// note notes the writer, which is the caller, unless m is quick.
func (m *RWMutex) note() {
	if m.load()&quick == 0 {
		m.holder.Note()
	}
}

func (m *RWMutex) awaitLock(limit coroutine.Limit) coroutine.Wake {
	if m.tryBarge() == done {
		return coroutine.WakeReady
	}
	over := limit.Expired()
	if over == coroutine.WakeReady && m.spin(m.tryBarge) {
		return coroutine.WakeReady
	}
	since := clock.Now()
	w := waitq.Acquire(limit)
	if why, queued := m.enqueueWriter(w, since, over); !queued {
		waitq.Release(w)
		return why
	}
	for {
		if limit == (coroutine.Limit{}) {
			w.BlockedBy(&m.holder)
		}
		why := waitq.Wait(w, coroutine.ReasonLock, limit, &m.guard, m.leaveLocked)
		w.BlockedBy(nil)
		if why != coroutine.WakeReady {
			waitq.Release(w)
			return why
		}
		if m.loadSlow()&woken == 0 || m.spin(m.tryWoken) { // handed off, or locked
			break
		}
		if waitq.Renew(w); !m.requeueWriter(w, since, starved(since)) {
			break
		}
	}
	waitq.Release(w)
	m.served(since)
	return coroutine.WakeReady
}

// tryBarge locks m for writing past the queue, if m is free.
func (m *RWMutex) tryBarge() attempt {
	s := m.loadSlow()
	switch {
	case s&handoff != 0:
		return hopeless
	case isFree(s) && m.swapSlow(s, s|writer):
		return done
	}
	return failed
}

// tryWoken locks m for the woken writer, if m is free.
func (m *RWMutex) tryWoken() attempt {
	s := m.loadSlow()
	if isFree(s) && m.swapSlow(s, lockedByWoken(s)) {
		return done
	}
	return failed
}

// lockedByWoken returns the state after the woken writer locks m in the state
// s.
func lockedByWoken(s int64) int64 { return normal(s&^woken | writer) }

// enqueueWriter queues w and reports isQueued. Or it locks m for writing if m
// is free by now, or finds that the wait is over before it begins, and returns
// why.
func (m *RWMutex) enqueueWriter(w *coroutine.Waiter, since int64,
	over coroutine.Wake) (why coroutine.Wake, isQueued bool) {
	m.guard.Lock()
	defer m.guard.Unlock()
	for {
		s := m.loadSlow()
		switch {
		case isFree(s) && s&handoff == 0:
			if m.swapSlow(s, s|writer) {
				return coroutine.WakeReady, false
			}
		case over != coroutine.WakeReady:
			return over, false
		case s&queued != 0 || m.swapSlow(s, normal(s|queued)):
			m.pushLocked(w, kindWriter, since)
			return coroutine.WakeReady, true
		}
	}
}

// requeueWriter queues the woken writer before all others, with handoff if it
// is starved, and reports true; or it locks m for it.
func (m *RWMutex) requeueWriter(w *coroutine.Waiter, since int64, starved bool) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	for {
		s := m.loadSlow()
		if isFree(s) {
			if m.swapSlow(s, lockedByWoken(s)) {
				return false
			}
			continue
		}
		next := normal(s&^woken | queued)
		if starved {
			next = next&^quick | handoff
		}
		if m.swapSlow(s, next) {
			m.since.Store(since)
			m.queue.PushFront(w, kindWriter)
			return true
		}
	}
}

func (m *RWMutex) pushLocked(w *coroutine.Waiter, kind uintptr, since int64) {
	if m.queue.Empty() {
		m.since.Store(since)
	}
	m.queue.Push(w, kind)
}

// served follows when a waiter that queued at since has got m. It ends handoff
// if the waiter was not starved.
func (m *RWMutex) served(since int64) {
	s := m.loadSlow()
	if s&queued != 0 {
		m.since.Store(clock.Now())
	}
	if s&handoff != 0 && !starved(since) {
		for s = m.loadSlow(); !m.swapSlow(s, s&^handoff); s = m.loadSlow() {
		}
	}
}

// rlockSlow locks m for reading within limit. It returns WakeReady if it has.
//
// Precondition: the caller is a pending reader.
func (m *RWMutex) rlockSlow(limit coroutine.Limit) coroutine.Wake {
	if m.tryPending() == done {
		return coroutine.WakeReady
	}
	over := limit.Expired()
	if over == coroutine.WakeReady && m.spin(m.tryPending) {
		return coroutine.WakeReady
	}
	since := clock.Now()
	w := waitq.Acquire(limit)
	why, queued := m.enqueueReader(w, since, over)
	if queued {
		if limit == (coroutine.Limit{}) {
			w.BlockedBy(&m.holder)
		}
		why = waitq.Wait(w, coroutine.ReasonLock, limit, &m.guard, m.leaveLocked)
		w.BlockedBy(nil)
		if why == coroutine.WakeReady {
			m.served(since)
		}
	}
	waitq.Release(w)
	return why
}

// tryPending reports whether a pending reader has got m.
func (m *RWMutex) tryPending() attempt {
	s := m.loadSlow()
	switch {
	case s&handoff != 0:
		return hopeless
	case s&writer != 0 || count(s) <= 0:
		return failed
	}
	return done
}

// enqueueReader ends a pending reader: it has got m by now, or it takes back
// its 1 and queues w, which isQueued reports, or the wait is over before it
// begins.
func (m *RWMutex) enqueueReader(w *coroutine.Waiter, since int64,
	over coroutine.Wake) (why coroutine.Wake, isQueued bool) {
	isQueued = over == coroutine.WakeReady
	m.guard.Lock()
	for {
		s := m.loadSlow()
		open := s&(writer|handoff) == 0
		if open && count(s) > 0 {
			m.guard.Unlock()
			return coroutine.WakeReady, false
		}
		next := s
		switch {
		case open: // an RUnlock too many has taken the 1
			next += (1 - count(s)) * one
		case count(s) > 0: // else it has, too
			next -= one
		}
		if isQueued && !open {
			next = normal(next | queued)
		}
		if m.swapSlow(s, next) && !open {
			break
		}
	}
	if isQueued {
		m.pushLocked(w, kindReader, since)
	}
	m.serveLocked()
	m.guard.Unlock()
	return over, isQueued
}

// unlockSlow is Unlock if the state was not just writer.
func (m *RWMutex) unlockSlow() {
	for {
		s := m.loadSlow()
		if s&writer == 0 {
			panic(misuse("Unlock", s))
		}
		m.holder.Clear() // before it can have another
		if m.swapSlow(s, m.afterWriter(s)) {
			if s&needsWake != 0 {
				m.serve()
			}
			return
		}
	}
}

// afterWriter returns the state after an Unlock in the state s.
func (m *RWMutex) afterWriter(s int64) int64 {
	switch {
	case coroutine.NotesHolders: // m never becomes quick
	case s&(quick|handoff) != 0:
		m.noted = 0
	case m.noted >= noteFor:
		s |= quick
	default:
		m.noted++
	}
	return s &^ writer
}

// runlockSlow is RUnlock if the state that it left, s, has runlockSlowBits.
func (m *RWMutex) runlockSlow(s int64) {
	switch {
	case s < 0 || s&writer != 0:
		m.undoRUnlock()
	case isFree(s):
		m.serve()
	case s&handoff == 0 && starved(m.since.Load()):
		m.startHandoff()
	}
}

// undoRUnlock puts back the 1 that an RUnlock too many has taken off the count,
// unless it is back already, and panics.
func (m *RWMutex) undoRUnlock() {
	m.guard.Lock()
	s := m.loadSlow()
	for ; count(s) < 0; s = m.loadSlow() {
		if m.swapSlow(s, s+one) {
			m.serveLocked() // callers may have queued because the lock looked held
			break
		}
	}
	m.guard.Unlock()
	panic(misuse("RUnlock", s))
}

// startHandoff sets handoff, unless a writer is woken or no waiter is left.
func (m *RWMutex) startHandoff() {
	m.guard.Lock()
	s := m.loadSlow()
	for s&needsWake != 0 && !m.swapSlow(s, s&^quick|handoff) {
		s = m.loadSlow()
	}
	m.serveLocked()
	m.guard.Unlock()
}

// serve gives m to the front of the queue, or wakes a writer there to try.
func (m *RWMutex) serve() {
	m.guard.Lock()
	m.serveLocked()
	m.guard.Unlock()
}

// serveLocked is serve under the guard.
func (m *RWMutex) serveLocked() {
	for {
		s := m.loadSlow()
		if s&writer != 0 || s&needsWake == 0 {
			return
		}
		n, next := m.nextLocked(s)
		if n == 0 {
			return
		}
		if m.swapSlow(s, next) {
			for range n {
				m.guard.Take(&m.queue, m.queue.Front())
			}
			return
		}
	}
}

// nextLocked returns how many waiters at the front are served in the state s,
// and the state afterwards.
//
// Precondition: s has needsWake and no writer.
func (m *RWMutex) nextLocked(s int64) (n int, next int64) {
	n, last := m.readersInFrontLocked()
	switch {
	case n > 0:
		next = s + (int64(n)-min(count(s), 0))*one // a negative count becomes 0 first
	case !isFree(s):
		return 0, s
	case s&handoff != 0:
		n, last, next = 1, m.queue.Front(), s|writer
	default:
		n, last, next = 1, m.queue.Front(), s|woken
	}
	if last.Link == nil {
		next &^= queued
	}
	return n, normal(next)
}

// readersInFrontLocked returns the number of readers before the next writer,
// and the last of them.
func (m *RWMutex) readersInFrontLocked() (n int, last *coroutine.Waiter) {
	for w := m.queue.Front(); w != nil && waitq.Kind(w) == kindReader; w = w.Link {
		n, last = n+1, w
	}
	return n, last
}

// leaveLocked implements waitq.Leave.
func (m *RWMutex) leaveLocked(w *coroutine.Waiter) {
	m.queue.Remove(w)
	if m.queue.Empty() {
		for s := m.loadSlow(); !m.swapSlow(s, normal(s&^queued)); s = m.loadSlow() {
		}
	}
	m.serveLocked()
}

// count returns the count of a state. It is negative while a misuse is undone.
func count(s int64) int64 { return s >> 6 }

// isFree reports whether the lock has no holder and no pending reader.
func isFree(s int64) bool { return s&(^flagMask|writer) == 0 }

// normal returns s with needsWake as it follows from queued and woken, and
// without handoff if there are no waiters.
func normal(s int64) int64 {
	switch s & (queued | woken) {
	case queued:
		return s | needsWake
	case 0:
		return s &^ (needsWake | handoff)
	}
	return s &^ needsWake
}

// misuse returns the message for an op that the state s does not allow.
func misuse(op string, s int64) string {
	state := "free"
	switch {
	case s&writer != 0:
		state = "locked for writing"
	case count(s) > 0:
		state = fmt.Sprintf("locked for reading, %d times", count(s))
	}
	if s&(queued|woken) != 0 {
		state += ", others wait"
	}
	return "rwmutex: " + op + " of unlocked RWMutex: it is " + state
}

// starvationThresholdNs is how long the front of the queue lets others pass.
const starvationThresholdNs = int64(time.Millisecond)

// starved reports whether a waiter that came at since is starved.
func starved(since int64) bool {
	if choose != nil {
		return choose(isStarved)
	}
	return clock.Now()-since > starvationThresholdNs
}

// attempt is the result of an attempt to get the lock.
type attempt int

const (
	failed   attempt = iota
	done             // the caller has the lock
	hopeless         // the caller will have to queue
)

// Spinning is attempts with pauses in between, of some 10 ns, that double: each
// attempt takes the state's cache line from the holder. Together they last
// about as long as a wake from another thread.
const (
	spinAttempts = 8
	firstPauses  = 10
	maxPauses    = 160
	spinMisses   = 4    // vain waits in a row, after which waits do not spin
	spinAgain    = 1024 // but one of so many
)

// canSpin says whether another thread can run while this one spins.
var canSpin = runtime.NumCPU() > 1

// spin attempts for a while, if that has succeeded lately, and reports whether
// the caller has the lock.
func (m *RWMutex) spin(try func() attempt) bool {
	pauses := uint32(firstPauses)
	for range m.attempts() {
		asm.Pause(pauses)
		pauses = min(2*pauses, maxPauses)
		switch try() {
		case done:
			if m.misses.Load() != 0 {
				m.misses.Store(0)
			}
			return true
		case hopeless:
			return false
		}
	}
	return false
}

// attempts returns how many attempts a spin makes. If there are any, they count
// as a miss until one succeeds.
func (m *RWMutex) attempts() int {
	if choose != nil {
		if choose(doesSpin) {
			return 1
		}
		return 0
	}
	if !canSpin {
		return 0
	}
	n := m.misses.Load()
	m.misses.Store(n + 1)
	if n < spinMisses || n%spinAgain == 0 {
		return spinAttempts
	}
	return 0
}

// choose is nil except in tests, where it decides what depends on time.
var choose func(question) bool

type question int

const (
	isStarved question = iota
	doesSpin
)

// The slow paths' accesses to the state, as steps of waitq.Tracer.
const (
	opLoad waitq.Op = "load state"
	opSwap waitq.Op = "swap state"
)

func (m *RWMutex) loadSlow() int64 {
	waitq.Step(opLoad)
	return m.load()
}

func (m *RWMutex) swapSlow(old, next int64) bool {
	waitq.Step(opSwap)
	return m.swap(old, next)
}
