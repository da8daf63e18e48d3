package coroutine

import (
	"sync/atomic"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/inside"
	"github.com/netco-go/netco/internal/invariant"
)

// The table maps a goroutine's identity to the worker that the goroutine is. It
// uses open addressing with linear probing over atomic pointers. The assembly
// reads one of them; on amd64 and arm64 an aligned pointer is read whole, and
// its target was written before it was published.
//
// A reader searches only for its own goroutine, whose entry exists from before
// the first search until after the last; so a reader needs no lock as long as
// no writer breaks its probe chain: a removed entry becomes a tombstone, and
// growth publishes a new table that holds every entry of the old one. Writers
// (a goroutine joins or leaves a pool) hold tableMu.
var (
	table   atomic.Pointer[gTable] // never nil
	tableMu inside.Mutex
)

type gTable struct {
	first unsafe.Pointer           // &slots[0], for asm.Find
	shift uint64                   // 64 - log2(len(slots))
	slots []atomic.Pointer[worker] // length a power of two; emptySlot where empty
	used  int                      // entries and tombstones; under tableMu
	live  int                      // entries; under tableMu
}

// No goroutine has identity 0, so no goroutine's worker is one of these.
var (
	emptySlot = new(worker)
	tombstone = new(worker) // where an entry was removed
)

const minTableBits = 8

func init() {
	table.Store(newGTable(minTableBits))
	inside.SetFind(func() *inside.Pinning {
		if w := found(); w != nil {
			return &w.pinning
		}
		return nil
	})
}

func newGTable(bits uint64) *gTable {
	t := &gTable{slots: make([]atomic.Pointer[worker], 1<<bits), shift: 64 - bits}
	for i := range t.slots {
		t.slots[i].Store(emptySlot)
	}
	t.first = unsafe.Pointer(&t.slots[0])
	return t
}

func (t *gTable) hash(g uintptr) uint64 { return asm.Hash(g) >> t.shift }

// CurrentWorker returns the calling goroutine's worker, or nil for an ordinary
// goroutine. A coroutine that was left behind rejoins first, so the caller may
// touch fields of its executor's owner. A few nanoseconds.
//
//go:norace
func CurrentWorker() *Worker {
	if invariant.Enabled {
		holdsNothing("calls what may wait")
	}
	t := currentTable()
	p, g := asm.Find(t.first, t.shift)
	w := (*worker)(p)
	if w.ctx.G() != g {
		if w = t.probe(g); w == nil {
			return nil
		}
	}
	if w.away.load() != attached {
		return w.attached()
	}
	return w
}

// driven is CurrentWorker without a wait: for a coroutine that is left behind,
// or about to be, it returns nil.
//
//go:norace
func driven() *worker {
	w := found()
	if w != nil && w.awayWord() != attached {
		return nil
	}
	return w
}

// found returns the calling goroutine's worker, or nil, whether its coroutine
// is left behind or not.
//
//go:norace
func found() *worker {
	t := currentTable()
	p, g := asm.Find(t.first, t.shift)
	if w := (*worker)(p); w.ctx.G() == g {
		return w
	}
	return t.probe(g)
}

// probe is found for a goroutine that is not in the first slot of its chain.
//
//go:norace
func (t *gTable) probe(g uintptr) *worker {
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(g); ; i = (i + 1) & mask {
		switch w := t.slot(i); {
		case w.ctx.G() == g:
			return w
		case w == emptySlot:
			return nil
		}
	}
}

// enroll adds w under its goroutine, which is the caller.
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

// expel removes w. Its goroutine calls expel before it ends: the identity may
// be reused at once.
func expel(w *worker) {
	tableMu.Lock()
	defer tableMu.Unlock()
	t := table.Load()
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(w.ctx.G()); ; i = (i + 1) & mask {
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

// insert puts w into the first slot of its chain that is empty or has a
// tombstone. Goroutines are reused; if tombstones were not, their entries would
// move down their chains with every use.
func (t *gTable) insert(w *worker) {
	mask := uint64(len(t.slots) - 1)
	i := t.hash(w.ctx.G())
	old := t.slots[i].Load()
	for old != emptySlot && old != tombstone {
		i = (i + 1) & mask
		old = t.slots[i].Load()
	}
	t.slots[i].Store(w)
	t.live++
	if old == emptySlot {
		t.used++
	}
}

// rebuilt returns a table with t's entries, no tombstones, and space for as
// many more.
func (t *gTable) rebuilt() *gTable {
	bits := uint64(minTableBits)
	for 1<<bits < 3*(t.live+1) { // a table that was half full becomes twice as large
		bits++
	}
	n := newGTable(bits)
	for i := range t.slots {
		if w := t.slots[i].Load(); w != emptySlot && w != tombstone {
			n.insert(w)
		}
	}
	return n
}

// workers calls f for every worker in the table, and for some placeholders and
// ended workers. It may miss workers that are enrolled meanwhile. Any thread.
func workers(f func(*worker) bool) {
	t := table.Load() // growing or shrinking meanwhile makes another table
	for i := range t.slots {
		t.prefetch(i)
		if !f(t.slots[i].Load()) {
			return
		}
	}
}

// prefetch loads the workers and coroutines that workers will pass on some
// slots after i: with a million coroutines they are not in the cache.
func (t *gTable) prefetch(i int) {
	if i+16 < len(t.slots) {
		w := uintptr(unsafe.Pointer(t.slots[i+16].Load()))
		asm.Prefetch(w + unsafe.Offsetof(worker{}.co))
		asm.Prefetch(w + unsafe.Offsetof(worker{}.ex))
	}
	if i+8 < len(t.slots) {
		if co := uintptr(unsafe.Pointer(t.slots[i+8].Load().co.Load())); co != 0 {
			asm.Prefetch(co)
			asm.Prefetch(co + unsafe.Offsetof(Coroutine{}.name))
			asm.Prefetch(co + unsafe.Offsetof(Coroutine{}.id))
		}
	}
}
