package processor

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
)

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
