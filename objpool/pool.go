package objpool

import "fmt"

const (
	defaultChunk = 16
	defaultCap   = 1024
)

// Options configures a Pool. The zero value is useful.
type Options struct {
	// Chunk is the number of objects allocated at once when none is free. 0
	// means 16, or 1 when Cap is negative: a pool that keeps nothing wants each
	// object freed on its own.
	Chunk int

	// Cap is the highest number of free objects that Put keeps. 0 means 1024,
	// negative none.
	Cap int
}

// withDefaults returns o with every default filled in. It panics on an invalid
// value.
func (o Options) withDefaults() Options {
	if o.Chunk < 0 {
		panic(fmt.Sprintf("objpool: Options.Chunk is %d, want 0 or more", o.Chunk))
	}
	if o.Chunk == 0 {
		o.Chunk = defaultChunk
		if o.Cap < 0 {
			o.Chunk = 1
		}
	}
	switch {
	case o.Cap < 0:
		o.Cap = 0
	case o.Cap == 0:
		o.Cap = defaultCap
	}
	return o
}

// Pool is a single-owner free list of *T. See the package documentation. Use
// New; a Pool must not be copied.
type Pool[T any] struct {
	// All fields are the owner's.

	free  []*T    // stack of free objects, the warmest on top; slots above its length are nil
	fresh []T     // the part of the current chunk that was never handed out
	opts  Options // after withDefaults, so Cap is the real limit

	ledger ledger[T]
}

// New returns an empty Pool. It allocates no object yet. It panics if o is
// invalid.
func New[T any](o Options) *Pool[T] {
	return &Pool[T]{opts: o.withDefaults()}
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
	if checkDoublePut {
		p.ledger.out(x)
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
		if p.opts.Chunk == 0 {
			panic("objpool: Get on a Pool not made by New")
		}
		p.fresh = make([]T, p.opts.Chunk)
	}
	x := &p.fresh[0]
	p.fresh = p.fresh[1:]
	if len(p.fresh) == 0 {
		p.fresh = nil // an empty tail still points at the chunk, and would keep it alive
	}
	return x
}

// Put gives x back, or leaves it to the garbage collector if Cap are free. x
// comes from a Get of this Pool, was not put since, and is not used after. Put
// panics if x is nil. The list of free objects grows by doubling up to Cap;
// other than that Put does not allocate.
func (p *Pool[T]) Put(x *T) {
	if x == nil {
		panic("objpool: Put(nil)")
	}
	if checkDoublePut {
		p.ledger.mustBeOut(x)
	}
	if len(p.free) >= p.opts.Cap {
		return
	}
	if checkDoublePut {
		p.ledger.in(x)
	}
	p.free = append(p.free, x)
}
