package processor

import (
	"runtime"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/ilist"
)

// bufferWait is a coroutine that waits for a buffer. Each Processor queues
// them, FIFO: a released buffer goes to the first, so no coroutine is
// overtaken.
type bufferWait struct {
	w *coroutine.Waiter
	b *Buffer // set by handOver
	ilist.Links[bufferWait]
	queued bool
}

// handOver gives b, which counts as lent, to the first in the queue.
func (bp *bufferPool) handOver(p *Processor, b *Buffer) {
	x := bp.queue.Front()
	bp.leave(x)
	x.b = b
	p.ex.Wake(x.w)
}

// leave takes x out of the queue.
func (bp *bufferPool) leave(x *bufferWait) {
	bp.queue.Remove(x)
	if bp.queue.Empty() {
		bp.searched = 0
		bp.wanted.Store(false)
	}
}

// awaitBuffer is AcquireBuffer at the limit.
//
//go:norace
func (p *Processor) awaitBuffer() *Buffer {
	q := &p.buffers
	q.waits.Inc()
	if coroutine.Current() == nil {
		return p.lendNew() // the loop itself cannot wait
	}
	x := &bufferWait{w: coroutine.AcquireWaiter()}
	for p.queueFor(x) {
		if q.park(x) {
			x.w.Release()
			coroutine.Unwind()
		}
		x.w.Prepare()
	}
	x.w.Release()
	return x.lent()
}

// lent returns the buffer that handOver has lent to bw, the caller's wait.
//
//go:norace
func (bw *bufferWait) lent() *Buffer {
	goruntime.RaceAcquire(bw.b.addr())
	return bw.b
}

// queueFor queues x, unless it is queued, and reports whether x has to wait.
// Owner.
func (p *Processor) queueFor(x *bufferWait) bool {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	if q := &p.buffers; !x.queued {
		x.queued = true
		q.queue.PushBack(x)
		q.wanted.Store(true) // before freedRemotely is checked
		p.lendMore()
	}
	return x.b == nil
}

// park waits once. It returns true if x has no buffer and its coroutine is
// cancelled; x is then out of the queue.
func (bp *bufferPool) park(x *bufferWait) (unwind bool) {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	wait := max(bp.searched, minSearch)
	why := x.w.ParkUntil(coroutine.ReasonBuffer, clock.Now()+int64(wait))
	switch {
	case x.b != nil:
	case why == coroutine.WakeShutdown:
		bp.leave(x)
		return true
	case why == coroutine.WakeTimeout && bp.queue.Front() == x:
		bp.searched = min(max(2*bp.searched, 2*minSearch), maxSearch)
		go runtime.GC()
	}
	return false
}

// lendMore serves the waiting coroutines after buffers have been freed
// remotely. It is called in each turn while any coroutine waits.
func (p *Processor) lendMore() {
	for q := &p.buffers; !q.queue.Empty() && q.inUse() < q.max; {
		q.handOver(p, p.lendNew())
	}
}

// A leaked buffer, such as the buffer of a reader that was closed with unread
// data, is in use until the garbage collector finds it. While all buffers are
// in use, little is allocated that would make the collector run. So the first
// waiter in the queue asks for a collection when it has waited for minSearch,
// then after twice as long each time.
const (
	minSearch = time.Second
	maxSearch = time.Minute
)
