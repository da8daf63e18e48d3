//go:build netco_invariants || race

package inside

import "github.com/netco-go/netco/internal/counter"

// held counts what a goroutine has of netco's and must give back before it
// gives up its thread: locks, and waiters that it has claimed and not woken. A
// coroutine of the same Processor may spin for any of them.
//
// The goroutine writes; any thread reads.
type held struct{ n counter.Counter }

// Mark is part of a lock that must not be held across a switch. It says which
// goroutine of an executor has the lock: nil for any other. Under the lock.
type Mark struct{ by *Pinning }

// Set is for the caller that has just taken the lock.
func (m *Mark) Set() {
	if m.by = own(); m.by != nil {
		m.by.held.n.Inc()
	}
}

// Clear is for the caller that is about to give the lock back.
func (m *Mark) Clear() {
	if by := m.by; by != nil {
		m.by = nil
		by.held.n.Dec()
	}
}

// Busy is what Begin counts and Done ends.
type Busy struct{ o *Pinning }

// Begin counts the caller's claims as one more thing held, until Done.
func Begin() Busy {
	b := Busy{own()}
	if b.o != nil {
		b.o.held.n.Inc()
	}
	return b
}

// Done ends what Begin has begun.
func (b Busy) Done() {
	if b.o != nil {
		b.o.held.n.Dec()
	}
}

// Holds reports whether the goroutine holds anything. Any thread.
func (o *Pinning) Holds() bool { return o.held.n.Load() != 0 }

// own returns the calling goroutine's Pinning, or nil.
func own() *Pinning {
	if find == nil {
		return nil
	}
	return find()
}
