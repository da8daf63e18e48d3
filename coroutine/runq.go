package coroutine

// runQueue is the FIFO of ready coroutines: a ring that grows by doubling. A ring, not a list through the
// coroutines, so that looking ahead (to prefetch) touches no coroutine.
// Owner: the executor's thread.
type runQueue struct {
	buf        []*Coroutine // length a power of two
	head, tail uint32       // tail-head is the length; both wrap
}

const minRunQueue = 64

func (q *runQueue) len() int { return int(q.tail - q.head) }

func (q *runQueue) push(co *Coroutine) {
	if int(q.tail-q.head) == len(q.buf) {
		q.grow()
	}
	q.buf[q.tail&uint32(len(q.buf)-1)] = co
	q.tail++
}

// pop takes the oldest. Precondition: len() > 0.
func (q *runQueue) pop() *Coroutine {
	p := &q.buf[q.head&uint32(len(q.buf)-1)]
	q.head++
	return *p
}

// peek returns the i-th oldest, or nil.
func (q *runQueue) peek(i uint32) *Coroutine {
	if q.tail-q.head <= i {
		return nil
	}
	return q.buf[(q.head+i)&uint32(len(q.buf)-1)]
}

func (q *runQueue) grow() {
	buf := make([]*Coroutine, max(minRunQueue, 2*len(q.buf)))
	n := q.tail - q.head
	for i := range n {
		buf[i] = q.buf[(q.head+i)&uint32(len(q.buf)-1)]
	}
	q.buf, q.head, q.tail = buf, 0, n
}

// release drops what popped entries still refer to, and the space of a burst long gone. Precondition: len() == 0.
func (q *runQueue) release() {
	if len(q.buf) > 16*minRunQueue {
		*q = runQueue{}
		return
	}
	clear(q.buf)
}
