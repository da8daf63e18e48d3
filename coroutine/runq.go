package coroutine

// runQueue is the FIFO of ready coroutines: a ring that grows by doubling. It
// is no list through the coroutines, so that looking ahead (to prefetch)
// touches no coroutine. The executor has it, not the host, since each resume
// uses it: calls through Host could not be inlined. Owner: the executor's
// thread.
type runQueue struct {
	buf   []*Coroutine // length a power of two
	mask  uint64       // len(buf)-1, or 0 when nothing was pushed yet
	head  uint64       // taken so far, less moved
	tail  uint64       // pushed so far, less moved
	moved uint64       // moved to the front so far

	rested uint64 // taken() at the last rest
}

const (
	minRunQueue  = 64
	keptRunQueue = 1 << 10 // a ring up to this size is kept
	mostRunQueue = 1 << 16 // a larger ring is never kept: growing again costs less than its runs
)

func (q *runQueue) len() int { return int(q.tail - q.head) }

func (q *runQueue) push(co *Coroutine) {
	if q.tail-q.head == uint64(len(q.buf)) {
		q.grow()
	}
	q.buf[q.tail&q.mask] = co
	q.tail++
}

// pop takes the oldest coroutine. Precondition: len() > 0.
func (q *runQueue) pop() *Coroutine {
	co := q.buf[q.head&q.mask]
	q.head++
	return co
}

// moveTailToFront moves the newest coroutine to the front. Precondition: len()
// > 0.
func (q *runQueue) moveTailToFront() {
	q.tail--
	q.head--
	q.moved++
	q.buf[q.head&q.mask] = q.buf[q.tail&q.mask]
}

// taken returns how many coroutines were ever taken.
func (q *runQueue) taken() uint64 { return q.head + q.moved }

// front returns the oldest coroutine, or nil.
func (q *runQueue) front() *Coroutine {
	if q.tail == q.head {
		return nil
	}
	return q.buf[q.head&q.mask]
}

func (q *runQueue) grow() {
	buf := make([]*Coroutine, max(minRunQueue, 2*len(q.buf)))
	mask := uint64(len(buf) - 1)
	for i := q.head; i != q.tail; i++ {
		buf[i&mask] = q.buf[i&q.mask]
	}
	q.buf, q.mask = buf, mask
}

// rest drops references of popped entries, and a ring that recent bursts would
// not have needed. It is called before the thread sleeps. Its cost is in
// proportion to the number of entries taken since the last time, or to
// keptRunQueue.
func (q *runQueue) rest() {
	if q.len() != 0 {
		return
	}
	n := q.taken() - q.rested
	q.rested += n
	switch size := uint64(len(q.buf)); {
	case size > mostRunQueue || size > keptRunQueue && n < size/4:
		q.free()
	case n > 0:
		clear(q.buf)
	}
}

// free gives up the ring. Precondition: len() == 0.
func (q *runQueue) free() { q.buf, q.mask = nil, 0 }
