//go:build netco_invariants || race

package inside

import "github.com/netco-go/netco/internal/counter"

// held counts netco's locks that a goroutine holds, and its claims: waiters
// that it has claimed and not woken. It must give up all of them before it
// gives up its thread: a coroutine of the same Processor may spin for any of
// them.
//
// The goroutine writes; any thread reads.
type held struct{ n counter.Counter }

// Mark is part of a lock that must not be held across a switch. It says which
// goroutine has the lock: nil for a goroutine of no executor. Under the lock.
type Mark struct{ by *Pinning }

// Set records the caller, which has just taken the lock.
func (m *Mark) Set() {
	if m.by = own(); m.by != nil {
		m.by.held.n.Inc()
	}
}

// Clear undoes Set. The caller is about to release the lock.
func (m *Mark) Clear() {
	if by := m.by; by != nil {
		m.by = nil
		by.held.n.Dec()
	}
}

// Busy is the result of Begin, for Done.
type Busy struct{ o *Pinning }

// Begin counts the caller's claims, as one, until Done.
func Begin() Busy {
	b := Busy{own()}
	if b.o != nil {
		b.o.held.n.Inc()
	}
	return b
}

// Done undoes Begin.
func (b Busy) Done() {
	if b.o != nil {
		b.o.held.n.Dec()
	}
}

// Holds reports whether the goroutine holds a lock or claims. Any thread.
func (p *Pinning) Holds() bool { return p.held.n.Load() != 0 }

// own returns the calling goroutine's Pinning, or nil.
func own() *Pinning {
	if find == nil {
		return nil
	}
	return find()
}
