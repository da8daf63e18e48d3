package processor

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
)

// addr is what the race detector knows the start of f's function by.
func (f *Func) addr() unsafe.Pointer { return unsafe.Pointer(&f.site) }

// addr is what the race detector knows the start of x's Watcher by.
func (x *Watch) addr() unsafe.Pointer { return unsafe.Pointer(&x.owner) }

// addr is what the race detector knows the use of b by, from one Release to the
// next Acquire.
func (b *Buffer) addr() unsafe.Pointer { return unsafe.Pointer(b) }

// prefetch loads the PollDesc into the cache.
func (pd *PollDesc) prefetch() { asm.Prefetch(uintptr(unsafe.Pointer(pd))) }

// prefetchWaiter loads the coroutine that waits to read into the cache.
func (pd *PollDesc) prefetchWaiter() {
	asm.Prefetch(uintptr(unsafe.Pointer(pd.read.w.Load())))
}

// prefetch loads into the cache what the next coroutine to begin with a Watch
// will touch, and the Watch after that.
func (q *wokenWatches) prefetch() {
	if w := q.first; w != nil {
		w.Hook().(*Watch).pd.prefetch()
		asm.Prefetch(uintptr(unsafe.Pointer(w.Link)))
	}
}
