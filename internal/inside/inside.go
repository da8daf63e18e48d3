// Package inside keeps a coroutine from being left behind while it waits inside
// netco: see package coroutine, handoff.go.
//
// A coroutine is left behind when its goroutine is found blocked, even in one
// of netco's own mutexes whose holder does not get a core. That must not happen
// between the check at an operation's beginning and the last access that the
// check guards. So the locks that such code waits for are of this package, and
// its other waits are enclosed in Pin and Unpin.
//
// The holder of one of these locks must not wait for its Processor, which may
// be waiting for the lock: it calls no function that may make a coroutine
// rejoin. Waking another coroutine does not. Where invariants are checked, each
// goroutine of an executor counts the locks and claims that it holds (Mark,
// Begin), and package coroutine panics if a goroutine that holds any gives up
// its thread, or calls a function that may.
package inside

import (
	"sync"

	"github.com/netco-go/netco/internal/counter"
)

// Pinning says whether a goroutine that is blocked may be left behind: only
// while the Pinning is odd. It only rises, so the same odd number, read twice,
// means that it was odd in between. The zero value is even.
//
// Its upper half, from nextRun on, is the number of the goroutine's run, from
// one switch to it to the next. 2^31 pins in one run count as a new one.
//
// Owner: the goroutine. Any thread reads it.
type Pinning struct {
	held // first, since it may have no size
	n    counter.Counter
}

const nextRun = 1 << 32

// Unpin makes p odd.
func (p *Pinning) Unpin() { p.n.Set(p.n.Own() | 1) }

// Pin makes p even.
func (p *Pinning) Pin() { p.n.Set((p.n.Own() + 1) &^ 1) }

// Own returns p's number to the owner, who may pass it to Restore.
func (p *Pinning) Own() uint64 { return p.n.Own() }

// Restore makes p as odd or even as was, which Own returned before a Pin and a
// switch.
func (p *Pinning) Restore(was uint64) { p.n.Set(was + was&1*nextRun) }

// Begin is Unpin for a new coroutine on the goroutine.
func (p *Pinning) Begin() { p.n.Set((p.n.Own() + nextRun) | 1) }

// Run returns the number of the run, for any thread.
func (p *Pinning) Run() uint64 { return p.n.Load() / nextRun }

// Load returns p's number, and whether it is odd. Any thread.
func (p *Pinning) Load() (n uint64, unpinned bool) {
	n = p.n.Load()
	return n, n&1 != 0
}

// find returns the calling goroutine's Pinning, or nil. Package coroutine sets
// it.
var find func() *Pinning

// SetFind sets how Pin finds the caller's Pinning. For package coroutine's
// init.
func SetFind(f func() *Pinning) { find = f }

// Pinned is the result of Pin, for Unpin.
type Pinned struct{ o *Pinning }

// Pin keeps the caller from being left behind until Unpin, whatever it waits
// for: its Processor waits with it. Nothing in between may need that Processor.
func Pin() Pinned {
	if find == nil {
		return Pinned{}
	}
	o := find()
	if o == nil || o.Own()&1 == 0 {
		return Pinned{}
	}
	o.Pin()
	return Pinned{o}
}

// Unpin undoes Pin. The same goroutine calls both.
func (p Pinned) Unpin() {
	if p.o != nil {
		p.o.Unpin()
	}
}

// Mutex is a sync.Mutex whose wait is pinned.
type Mutex struct {
	mark Mark
	mu   sync.Mutex
}

// Lock locks m.
func (m *Mutex) Lock() {
	if !m.mu.TryLock() {
		m.lockSlow()
	}
	m.mark.Set()
}

func (m *Mutex) lockSlow() {
	p := Pin()
	m.mu.Lock()
	p.Unpin()
}

// Unlock unlocks m.
func (m *Mutex) Unlock() {
	m.mark.Clear()
	m.mu.Unlock()
}

// RWMutex is a sync.RWMutex whose waits are pinned.
type RWMutex struct {
	mark Mark // of the writer; readers are not counted
	mu   sync.RWMutex
}

// Lock locks m for writing.
func (m *RWMutex) Lock() {
	p := Pin()
	m.mu.Lock()
	p.Unpin()
	m.mark.Set()
}

// RLock locks m for reading.
func (m *RWMutex) RLock() {
	if !m.TryRLock() {
		m.rlockSlow()
	}
}

// TryRLock is RLock without a wait, and reports whether it locked m.
func (m *RWMutex) TryRLock() bool { return m.mu.TryRLock() }

func (m *RWMutex) rlockSlow() {
	p := Pin()
	m.mu.RLock()
	p.Unpin()
}

// Unlock undoes Lock.
func (m *RWMutex) Unlock() {
	m.mark.Clear()
	m.mu.Unlock()
}

// RUnlock undoes RLock.
func (m *RWMutex) RUnlock() { m.mu.RUnlock() }
