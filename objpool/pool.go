package objpool

import "fmt"

const (
	defaultChunk = 16
	defaultCap   = 1024
)

// Options configures a Pool. The zero value is useful.
type Options[T any] struct {
	// Chunk is the number of objects allocated at once when none is free. 0
	// means 16, or 1 when Cap is negative: a pool that keeps nothing wants each
	// object freed on its own.
	Chunk int

	// Cap is the highest number of free objects that Put keeps. 0 means 1024,
	// negative none.
	Cap int

	// Reset, if not nil, is called by every Put, also by one that drops the
	// object: a dropped object stays in memory as long as its chunk does. It
	// must clear whatever keeps other memory alive. It may use the Pool for
	// other objects.
	Reset func(*T)
}

// withDefaults returns o with every default filled in. It panics on an invalid
// value.
func (o Options[T]) withDefaults() Options[T] {
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

	free []*T // stack of free objects, the warmest on top; slots above its length are nil
	gets uint64
	puts uint64
	opts Options[T] // after withDefaults, so Cap is the real limit

	fresh     []T    // the part of the current chunk that was never handed out
	issued    uint64 // objects taken from fresh by Get
	chunks    uint64
	allocated uint64
	dropped   uint64

	ledger ledger[T]
}

// New returns an empty Pool. It allocates no object yet. It panics if o is
// invalid.
func New[T any](o Options[T]) *Pool[T] {
	return &Pool[T]{opts: o.withDefaults()}
}

// Get returns a free object, the one put last, or else a new zero one. It
// allocates only when a chunk is used up.
func (p *Pool[T]) Get() *T {
	p.gets++
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
		p.chunks++
		p.allocated += uint64(p.opts.Chunk)
	}
	x := &p.fresh[0]
	p.fresh = p.fresh[1:]
	if len(p.fresh) == 0 {
		p.fresh = nil // an empty tail still points at the chunk, and would keep it alive
	}
	p.issued++
	return x
}

// Put gives x back. x comes from a Get of this Pool, was not put since, and is
// not used after. Put panics if x is nil. If Options.Reset panics, x is not
// put. The list of free objects grows by doubling up to Cap; other than that
// Put does not allocate.
func (p *Pool[T]) Put(x *T) {
	if x == nil {
		panic("objpool: Put(nil)")
	}
	if checkDoublePut {
		p.ledger.mustBeOut(x)
	}
	if p.opts.Reset != nil {
		p.opts.Reset(x)
	}
	p.puts++
	if len(p.free) >= p.opts.Cap {
		p.dropped++
		return
	}
	if checkDoublePut {
		p.ledger.in(x)
	}
	p.free = append(p.free, x)
}

// Trim drops free objects until at most keep are left, the coldest first: the
// never used rest of the current chunk, which goes as a whole, then those put
// longest ago. A negative keep counts as 0. It costs O(free objects) and is
// meant for idle moments.
func (p *Pool[T]) Trim(keep int) {
	keep = max(keep, 0)
	if rest := len(p.fresh); rest > 0 && len(p.free)+rest > keep {
		p.fresh = nil
		p.dropped += uint64(rest)
	}
	excess := len(p.free) - keep
	if excess <= 0 {
		return
	}
	p.dropped += uint64(excess)
	if checkDoublePut {
		for _, x := range p.free[:excess] {
			p.ledger.out(x)
		}
	}
	if keep < cap(p.free)/4 {
		p.free = append(make([]*T, 0, keep), p.free[excess:]...)
		return
	}
	copy(p.free, p.free[excess:])
	clear(p.free[keep:])
	p.free = p.free[:keep]
}

// Stats are a Pool's counters since New, and its present size. Allocated =
// InUse + Free + Fresh + Dropped, where an object that was never put back
// counts as in use.
type Stats struct {
	Gets      uint64 // calls of Get
	Reused    uint64 // of which returned an object that had been put
	Chunks    uint64 // allocations of a chunk
	Allocated uint64 // objects in those chunks
	Puts      uint64 // calls of Put
	Dropped   uint64 // objects let go by Put over Cap, or by Trim

	Free  int // objects that were put and are ready for reuse
	Fresh int // objects of the current chunk that were never handed out
	InUse int // Gets less Puts
}

// Stats returns the counters. Like every method it is the owner's to call.
func (p *Pool[T]) Stats() Stats {
	return Stats{
		Gets:      p.gets,
		Reused:    p.gets - p.issued,
		Chunks:    p.chunks,
		Allocated: p.allocated,
		Puts:      p.puts,
		Dropped:   p.dropped,
		Free:      len(p.free),
		Fresh:     len(p.fresh),
		InUse:     int(p.gets - p.puts),
	}
}
