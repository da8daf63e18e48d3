package processor

import (
	"runtime"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
)

// bufferWait is a coroutine that waits for a buffer.
type bufferWait struct {
	w    *coroutine.Waiter
	b    *Buffer // set when it is handed one
	next *bufferWait

	queued bool
}

// bufferQueue holds the coroutines of a Processor that wait for a buffer, FIFO.
// A released buffer is handed to the first, so none is overtaken. All fields:
// owner.
type bufferQueue struct {
	first, last *bufferWait
	searched    time.Duration // how long the first waited before the last collection
}

func (q *bufferQueue) empty() bool { return q.first == nil }

func (q *bufferQueue) push(x *bufferWait) {
	if q.first == nil {
		q.first = x
	} else {
		q.last.next = x
	}
	q.last = x
}

func (q *bufferQueue) remove(x *bufferWait) {
	at, before := &q.first, (*bufferWait)(nil)
	for *at != x {
		before, at = *at, &(*at).next
	}
	if *at = x.next; q.last == x {
		q.last = before
	}
}

// handOver gives b, which counts as lent, to the first in the queue.
func (bp *bufferPool) handOver(p *Processor, b *Buffer) {
	x := bp.queue.first
	bp.leave(x)
	x.b = b
	p.ex.Wake(x.w)
}

// leave takes x out of the queue.
func (bp *bufferPool) leave(x *bufferWait) {
	bp.queue.remove(x)
	if bp.queue.empty() {
		bp.queue.searched = 0
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

// lent returns the buffer that the owner has lent to bw, the caller's wait.
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
		q.queue.push(x)
		q.wanted.Store(true) // before freedRemotely is checked
		p.lendMore()
	}
	return x.b == nil
}

// park waits once. It reports true if x has no buffer and its coroutine is to
// end by force; x is then out of the queue.
func (bp *bufferPool) park(x *bufferWait) (unwind bool) {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	wait := max(bp.queue.searched, minSearch)
	why := x.w.ParkUntil(coroutine.ReasonBuffer, clock.Now()+int64(wait))
	switch {
	case x.b != nil:
	case why == coroutine.WakeShutdown:
		bp.leave(x)
		return true
	case why == coroutine.WakeTimeout && bp.queue.first == x:
		bp.queue.searched = min(max(2*bp.queue.searched, 2*minSearch), maxSearch)
		go runtime.GC()
	}
	return false
}

// lendMore serves the waiting coroutines after buffers have been freed
// remotely. It is called in each turn while any waits.
func (p *Processor) lendMore() {
	for q := &p.buffers; !q.queue.empty() && q.inUse() < q.max; {
		q.handOver(p, p.lendNew())
	}
}

// A leaked buffer, as that of a socket's reader which was closed with something
// unread, is in use until the garbage collector finds it. While all buffers are
// in use, little is allocated that would make the collector run. So the first
// waiter in the queue asks for a collection when it has waited for minSearch,
// then after twice as long each time.
const (
	minSearch = time.Second
	maxSearch = time.Minute
)
