package objpool

import (
	"fmt"

	"github.com/netco-go/netco/internal/invariant"
)

// Pool is a single-owner free list of *T. See the package documentation. Use
// New; a Pool must not be copied.
type Pool[T any] struct {
	// All fields are the owner's.

	free  []*T // stack of free objects, the warmest on top; slots above its length are nil
	fresh []T  // the part of the current chunk that was never handed out
	chunk int  // constant: how many objects are allocated at once
	keep  int  // constant: how many free objects are kept

	isFree map[*T]bool // where invariants are checked
}

// New returns an empty Pool that allocates chunk objects at once and keeps at
// most keep free ones. It allocates no object yet. It panics if chunk is not
// positive.
func New[T any](chunk, keep int) *Pool[T] {
	if chunk < 1 {
		panic(fmt.Sprintf("objpool: chunk of %d, want 1 or more", chunk))
	}
	p := &Pool[T]{chunk: chunk, keep: keep}
	if invariant.Enabled {
		p.isFree = make(map[*T]bool)
	}
	return p
}

// Get returns a free object, the one put last, or else a new zero one. It
// allocates only when a chunk is used up.
func (p *Pool[T]) Get() *T {
	n := len(p.free) - 1
	if n < 0 {
		return p.issue()
	}
	x := p.free[n]
	p.free[n] = nil // an object in use is the user's alone to keep alive
	p.free = p.free[:n]
	if invariant.Enabled {
		delete(p.isFree, x)
	}
	return x
}

// issue returns the next object that was never handed out. Inlined, it would
// slow Get down (BenchmarkPool/single: 4.7 ns for a Get and a Put, 5.3 to 6.6
// ns with issue inside).
//
//go:noinline
func (p *Pool[T]) issue() *T {
	if len(p.fresh) == 0 {
		p.fresh = make([]T, p.chunk)
	}
	x := &p.fresh[0]
	p.fresh = p.fresh[1:]
	if len(p.fresh) == 0 {
		p.fresh = nil // an empty tail still points at the chunk, and would keep it alive
	}
	return x
}

// Put gives x back, or leaves it to the garbage collector if enough are free. x
// comes from a Get of this Pool, was not put since, and is not used after. The
// list of free objects grows by doubling; other than that Put does not
// allocate.
func (p *Pool[T]) Put(x *T) {
	if invariant.Enabled && p.isFree[x] {
		panic(fmt.Sprintf("objpool: double Put of %T %p, which is free already", x, x))
	}
	if len(p.free) >= p.keep {
		return
	}
	if invariant.Enabled {
		p.isFree[x] = true
	}
	p.free = append(p.free, x)
}
