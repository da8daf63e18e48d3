package coroutine

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/asm"
)

// The table answers "which coroutine am I": it maps a goroutine's identity to the worker that goroutine is.
// It is open addressing with linear probing over atomic pointers.
//
// A reader asks only for its own goroutine, and its own entry was made before it could ask and stays until it has
// stopped asking; so a reader needs no lock as long as no writer breaks its probe chain: a removed entry becomes a
// tombstone, and growth publishes a new table that holds every entry of the old one.
// Writers (a goroutine joins or leaves a pool) hold tableMu.
var (
	table   atomic.Pointer[gTable] // never nil
	tableMu sync.Mutex
)

type gTable struct {
	slots []atomic.Pointer[worker] // length a power of two
	shift uint8                    // 64 - log2(len(slots))
	used  int                      // entries and tombstones; under tableMu
	live  int                      // entries; under tableMu
}

// tombstone stands where an entry was removed. No goroutine has identity 0.
var tombstone = new(worker)

const minTableBits = 8

func init() { table.Store(newGTable(minTableBits)) }

func newGTable(bits uint8) *gTable {
	return &gTable{slots: make([]atomic.Pointer[worker], 1<<bits), shift: 64 - bits}
}

// hash spreads g by Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4).
func (t *gTable) hash(g uintptr) uintptr { return uintptr(uint64(g) * 0x9e3779b97f4a7c15 >> t.shift) }

// self returns the worker that the calling goroutine is, or nil for an ordinary goroutine. A few nanoseconds.
func self() *worker {
	g := asm.Getg()
	t := table.Load()
	w := t.slots[t.hash(g)].Load()
	if w != nil && w.g == g {
		return w
	}
	return t.probe(g)
}

// probe continues self's search past the first slot.
func (t *gTable) probe(g uintptr) *worker {
	mask := uintptr(len(t.slots) - 1)
	for i := t.hash(g); ; i = (i + 1) & mask {
		w := t.slots[i].Load()
		if w == nil || w.g == g {
			return w
		}
	}
}

// enroll adds w under its goroutine w.g. To be called by that goroutine.
func enroll(w *worker) {
	tableMu.Lock()
	defer tableMu.Unlock()
	t := table.Load()
	if 2*(t.used+1) > len(t.slots) {
		t = t.rebuilt()
		table.Store(t)
	}
	t.insert(w)
}

// expel removes w. To be called by its goroutine before it ends: its identity may be used again at once.
func expel(w *worker) {
	tableMu.Lock()
	defer tableMu.Unlock()
	t := table.Load()
	mask := uintptr(len(t.slots) - 1)
	for i := t.hash(w.g); ; i = (i + 1) & mask {
		if t.slots[i].Load() == w {
			t.slots[i].Store(tombstone)
			t.live--
			break
		}
	}
	if len(t.slots) > 1<<minTableBits && 16*t.live < len(t.slots) {
		table.Store(t.rebuilt())
	}
}

// insert puts w into the first free slot of its chain.
func (t *gTable) insert(w *worker) {
	mask := uintptr(len(t.slots) - 1)
	i := t.hash(w.g)
	for t.slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	t.slots[i].Store(w)
	t.used++
	t.live++
}

// rebuilt returns a table with t's entries, no tombstones, and room for as many again.
func (t *gTable) rebuilt() *gTable {
	bits := uint8(minTableBits)
	for 1<<bits < 4*(t.live+1) {
		bits++
	}
	n := newGTable(bits)
	for i := range t.slots {
		if w := t.slots[i].Load(); w != nil && w != tombstone {
			n.insert(w)
		}
	}
	return n
}
