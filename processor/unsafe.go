package processor

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
)

// addr is the address by which the race detector orders the start of f's
// function.
func (f *Func) addr() unsafe.Pointer { return unsafe.Pointer(&f.site) }

// addr is the address by which the race detector orders the start of wa's
// Watcher.
func (wa *Watch) addr() unsafe.Pointer { return unsafe.Pointer(&wa.owner) }

// addr is the address by which the race detector orders a Release of b before
// the next Acquire.
func (b *Buffer) addr() unsafe.Pointer { return unsafe.Pointer(b) }

// prefetch loads the PollDesc into the cache.
func (pd *PollDesc) prefetch() { asm.Prefetch(uintptr(unsafe.Pointer(pd))) }

// prefetchWaiter loads the coroutine that waits to read into the cache.
func (pd *PollDesc) prefetchWaiter() {
	asm.Prefetch(uintptr(unsafe.Pointer(pd.read.w.Load())))
}

// prefetch loads the PollDesc of the first Watch, which the next coroutine
// touches, and the second Watch into the cache.
func (ww *wokenWatches) prefetch() {
	if w := ww.first; w != nil {
		w.Hook().(*Watch).pd.prefetch()
		asm.Prefetch(uintptr(unsafe.Pointer(w.Link)))
	}
}
