package processor

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// bufferQueue are the coroutines of a Processor that wait for a buffer, FIFO. Who gives one back hands it to the first, so nobody
// overtakes them. Owner.
type bufferQueue struct {
	first, last *bufferWait
	searched    time.Duration // how long the one in front waited for the last collection
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

// handOver gives b, which is lent, to the first in the queue.
func (q *bufferPool) handOver(p *Processor, b *Buffer) {
	x := q.queue.first
	q.leave(x)
	x.b = b
	p.ex.Wake(x.w)
}

// leave takes x out of the queue.
func (q *bufferPool) leave(x *bufferWait) {
	q.queue.remove(x)
	if q.queue.empty() {
		q.queue.searched = 0
		q.wanted.Store(false)
	}
}

// awaitBuffer is AcquireBuffer at the limit.
func (p *Processor) awaitBuffer() *Buffer {
	q := &p.buffers
	q.waits.Inc()
	if coroutine.Current() == nil {
		return q.lend(p.newBuffer()) // the loop itself cannot wait
	}
	x := &bufferWait{w: coroutine.AcquireWaiter()}
	q.queue.push(x)
	q.wanted.Store(true) // before the look at what others have given back
	p.lendMore()
	for x.b == nil {
		why := x.w.ParkUntil(coroutine.ReasonBuffer, clock.Now()+int64(max(q.queue.searched, minSearch)))
		switch {
		case x.b != nil:
		case why == coroutine.WakeShutdown:
			q.leave(x)
			x.w.Release()
			coroutine.Unwind()
		case why == coroutine.WakeTimeout && q.queue.first == x:
			q.queue.searched = min(max(2*q.queue.searched, 2*minSearch), maxSearch)
			go runtime.GC()
		}
		x.w.Prepare()
	}
	x.w.Release()
	return x.b
}

// lendMore serves those who wait after buffers have been given back on other threads. Called in each turn while somebody waits.
func (p *Processor) lendMore() {
	for q := &p.buffers; !q.queue.empty() && q.inUse() < q.max; {
		q.handOver(p, q.lend(p.newBuffer()))
	}
}

// A buffer that nobody has given back and nobody refers to, of a Buffered that was closed with something unread, say, is in use until the
// garbage collector finds it. If the first in the queue waits for longer than this it asks for a collection: after minSearch, then after
// twice as long each time.
const (
	minSearch = time.Second
	maxSearch = time.Minute
)

// loan tells whether a buffer is lent, for when the garbage collector finds it.
type loan struct {
	home *Processor
	out  atomic.Bool
}

// watchOver sees to it that b is counted as given back when it is lost.
func (b *Buffer) watchOver() {
	b.loan = &loan{home: b.home}
	runtime.AddCleanup(b, (*loan).lost, b.loan)
}

func (l *loan) lost() {
	if l.out.Load() {
		l.home.givenBackAbroad()
	}
}

// end is called when the buffer is given back.
func (l *loan) end() {
	if l != nil {
		l.out.Store(false)
	}
}
