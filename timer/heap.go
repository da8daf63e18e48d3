package timer

import (
	"fmt"
	"math"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/invariant"
)

// Timer is a function to be called at a deadline. The zero value with F set is
// ready for Heap.Set. It is meant to be a field of the object that it wakes,
// with Arg pointing to that object, so that setting it allocates nothing.
type Timer struct {
	_ noCopy

	// F is called by Heap.Expire on its thread, with Arg and the time that
	// Expire was given. It must be set before Set.
	F func(arg any, now int64)

	// Arg is passed to F. The Timer keeps it alive, queued or not.
	Arg any

	when int64  // owner: Heap; the deadline, while queued
	pos  int32  // owner: Heap; index in Heap.items, 0 when not queued
	seq  uint32 // owner: Heap; Heap.seq when it was last given its place, orders equal deadlines
}

// noCopy makes go vet report copies: the copy of a queued Timer is not queued,
// but looks so.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// item keeps the deadline beside the pointer so that comparing does not chase
// it.
//
// when <= t.when. They differ in a Timer that was moved to a later deadline:
// Set leaves such an item where it is, and it gets its right place when it
// comes to the root (settleRoot). A connection's timeout, moved on with every
// request, is thus sorted once per timeout period.
type item struct {
	when int64
	t    *Timer
}

// root is the index of the first item: not 0, which means "not queued" in
// Timer.pos. (Starting at 3, so that four children lie in one cache line, was
// measured and made no difference.)
const root = 1

func parent(i int) int     { return (i + 2) >> 2 }
func firstChild(i int) int { return 4*i - 2 }

// minCap is the capacity in items (16 bytes each) below which the array does
// not shrink.
const minCap = 1024

// Heap is a 4-ary min-heap of Timers. The zero value is empty and ready. See
// the package documentation for its contract.
//
// The array grows by doubling (by append, a million timers would leave five
// times their 16 MB as garbage), and is halved when three quarters of it are
// empty, so that a rush of a million does not stay in memory; below 16 KiB it
// is kept. A count that moves up and down by less than half never reallocates.
type Heap struct {
	// Late, if it is not nil, observes how late each F is called.
	Late *counter.Histogram

	// All other fields are the owner's.

	items  []item // items[root:] is the heap; items[:root], once there, and items[len:cap] are zero
	floor  int64  // while expiring: the earliest deadline that Set gives, one past that of Expire
	firing bool   // inside Expire
	seq    uint32 // counts placements
}

// Len returns the number of queued Timers.
func (h *Heap) Len() int { return max(len(h.items)-root, 0) }

// Next returns the earliest deadline; ok is false if no Timer is queued. Like
// Expire it sorts Timers that were moved to a later deadline, O(log n) once for
// each move.
func (h *Heap) Next() (when int64, ok bool) {
	if len(h.items) <= root {
		return 0, false
	}
	for !h.settleRoot() {
	}
	return h.items[root].when, true
}

// settleRoot reports whether the item at the root is where it belongs. If it
// was moved to a later deadline it gets its place.
func (h *Heap) settleRoot() bool {
	it := h.items[root]
	if it.when == it.t.when {
		return true
	}
	h.place(it.t)
	h.down(root, item{it.t.when, it.t})
	return false
}

// place numbers t for its place among equal deadlines, behind all the others.
func (h *Heap) place(t *Timer) {
	h.seq++
	t.seq = h.seq
}

// index returns the place of t, which is queued, in items.
func (h *Heap) index(t *Timer) int {
	i := int(t.pos)
	if i >= len(h.items) || h.items[i].t != t {
		panic(fmt.Sprintf("timer: Timer %p (place %d) is queued in another Heap, or a copy of a "+
			"queued Timer", t, i))
	}
	return i
}

// Set queues t for when, or moves it there if it is queued. A deadline in the
// past, also a negative one, is due at the next Expire. It costs O(log n), or
// O(1) if t is queued and moves to a later deadline, and no allocation unless
// the array grows. It panics if t.F is nil. It also panics if t is queued in
// another Heap, in the O(1) case only in builds with internal/invariant
// enabled.
//
// Inside an F, a deadline up to the time that Expire was given counts as one
// nanosecond after it: see Expire.
func (h *Heap) Set(t *Timer, when int64) {
	if t.F == nil {
		panic("timer: Set of a Timer whose F is nil")
	}
	if h.firing {
		when = max(when, h.floor)
	}
	if t.pos == 0 {
		h.push(t, when)
		return
	}
	if when >= t.when {
		if invariant.Enabled {
			h.index(t)
		}
		t.when = when // its item stays, see there
		return
	}
	i := h.index(t)
	t.when = when
	if when < h.items[i].when {
		h.place(t)
		h.up(i, item{when, t})
	}
}

// Cancel removes t from the heap in O(log n) and reports whether it was queued:
// false means that it was not set, that F has run, or that F is running.
func (h *Heap) Cancel(t *Timer) bool {
	if t.pos == 0 {
		return false
	}
	h.remove(h.index(t))
	return true
}

// Expire calls F of the Timers with a deadline of now or earlier, at most max
// of them if max > 0, and returns how many it called. If the result is max,
// more Timers may be due, see Next.
//
// Each Timer leaves the heap before its F is called. A Timer that an F sets
// does not run in this call, whatever its deadline, so Expire ends even if
// every F sets its Timer anew: a deadline up to now counts as now+1. A deadline
// of math.MaxInt64 never comes. An F may call Expire; if an F panics, its Timer
// is spent and the Heap is in order.
func (h *Heap) Expire(now int64, max int) int {
	if now == math.MaxInt64 {
		now-- // so that now+1 exists
	}
	if len(h.items) <= root || h.items[root].when > now {
		return 0
	}
	floor, firing := h.floor, h.firing
	h.floor, h.firing = now+1, true
	defer func() { h.floor, h.firing = floor, firing }()
	n := 0
	for len(h.items) > root && h.items[root].when <= now {
		if !h.settleRoot() {
			continue
		}
		t := h.items[root].t
		if h.Late != nil {
			h.Late.Observe(now - h.items[root].when)
		}
		h.remove(root)
		t.F(t.Arg, now)
		if n++; n == max {
			break
		}
	}
	return n
}

// push adds t, which is not queued.
func (h *Heap) push(t *Timer, when int64) {
	if len(h.items) < root {
		h.items = append(h.items, make([]item, root)...)
	}
	i := len(h.items)
	if i > math.MaxInt32 {
		panic(fmt.Sprintf("timer: %d Timers in one Heap", i-root))
	}
	t.when = when
	h.place(t)
	if i == cap(h.items) {
		h.items = append(make([]item, 0, 2*i), h.items...)
	}
	h.items = h.items[:i+1]
	h.up(i, item{when, t})
}

// remove removes the item at i from the heap and fills the hole with the last
// one.
func (h *Heap) remove(i int) {
	last := len(h.items) - 1
	h.items[i].t.pos = 0
	it := h.items[last]
	h.items[last] = item{} // pins nothing
	h.items = h.items[:last]
	if i < last {
		if i > root && less(it, h.items[parent(i)]) {
			h.up(i, it)
		} else {
			h.down(i, it)
		}
	}
	if c := cap(h.items); c > minCap && last < c/4 {
		h.items = append(make([]item, 0, c/2), h.items...)
	}
}

// less orders items by deadline, then by placement. The difference keeps its
// sign when seq wraps, as long as fewer than 2³¹ placements lie between two
// Timers with one deadline; beyond that only their order is lost.
func less(a, b item) bool {
	return a.when < b.when || a.when == b.when && int32(a.t.seq-b.t.seq) < 0
}

// up places it at i or, past later items, nearer to the root.
func (h *Heap) up(i int, it item) {
	items := h.items
	for i > root {
		p := parent(i)
		if !less(it, items[p]) {
			break
		}
		items[i] = items[p]
		items[i].t.pos = int32(i)
		i = p
	}
	items[i] = it
	it.t.pos = int32(i)
}

// down places it at i or, past earlier items, further from the root.
func (h *Heap) down(i int, it item) {
	items := h.items
	for {
		c := firstChild(i)
		if c >= len(items) {
			break
		}
		least, m := items[c], c
		for j := c + 1; j < min(c+4, len(items)); j++ {
			if less(items[j], least) {
				least, m = items[j], j
			}
		}
		if !less(least, it) {
			break
		}
		items[i] = least
		least.t.pos = int32(i)
		i = m
	}
	items[i] = it
	it.t.pos = int32(i)
}
