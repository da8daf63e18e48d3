// Package inside has what keeps a coroutine from being left behind while it
// waits inside netco: see package coroutine, handoff.go.
//
// A coroutine is left behind where its goroutine is found blocked, be it in a
// mutex of netco's whose holder does not get a core. That must not happen
// between the check that an operation begins with and the end of what the check
// guards. So netco's own locks that are waited for in there are of this
// package, and other waits are enclosed in Pin and Unpin.
//
// The holder of one of these locks must not wait for its Processor, which may
// be waiting for the lock: it calls nothing that has a coroutine rejoin. To
// wake others does not. Where invariants are checked, each goroutine of an
// executor counts what it holds (Mark, Begin), and package coroutine panics
// where one that holds anything gives up its thread or calls what may.
package inside

import (
	"sync"

	"github.com/netco-go/netco/internal/counter"
)

// Pinning says whether a goroutine that is blocked may be left behind: while
// it is odd. It only rises, so the same odd number, read twice, means that
// it was so in between. The zero value is even.
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

// Unpin makes it odd.
func (o *Pinning) Unpin() { o.n.Set(o.n.Own() | 1) }

// Pin makes it even.
func (o *Pinning) Pin() { o.n.Set((o.n.Own() + 1) &^ 1) }

// Own returns it for the owner, and Restore makes it as odd or even as that
// was.
func (o *Pinning) Own() uint64 { return o.n.Own() }

// Restore is for after Pin and a switch. was is what Own returned before.
func (o *Pinning) Restore(was uint64) { o.n.Set(was + was&1*nextRun) }

// Begin is Unpin for another coroutine than the one that ran on the goroutine
// before.
func (o *Pinning) Begin() { o.n.Set((o.n.Own() + nextRun) | 1) }

// Run returns the number of the run, for any thread.
func (o *Pinning) Run() uint64 { return o.n.Load() / nextRun }

// Load returns it, for any thread, and whether it is odd.
func (o *Pinning) Load() (n uint64, unpinned bool) {
	n = o.n.Load()
	return n, n&1 != 0
}

// find returns the calling goroutine's, or nil. Package coroutine sets it.
var find func() *Pinning

// SetFind sets how Pin finds the caller's. For package coroutine's init.
func SetFind(f func() *Pinning) { find = f }

// Pinned is what Unpin ends.
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

// Unpin ends what Pin began. By the same goroutine.
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

// Lock takes it.
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

// Unlock gives it back.
func (m *Mutex) Unlock() {
	m.mark.Clear()
	m.mu.Unlock()
}

// RWMutex is a sync.RWMutex whose waits are pinned.
type RWMutex struct {
	mark Mark // of the writer; readers are not counted
	mu   sync.RWMutex
}

// Lock takes it for writing.
func (m *RWMutex) Lock() {
	p := Pin()
	m.mu.Lock()
	p.Unpin()
	m.mark.Set()
}

// RLock takes it for reading.
func (m *RWMutex) RLock() {
	if !m.TryRLock() {
		m.rlockSlow()
	}
}

// TryRLock is RLock that does not wait, and reports whether it was taken.
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
