package blocking

// queue is a list of calls, the oldest first, out of which any can be taken.
// Guarded by the pool's mu.
type queue struct {
	head, tail *call
	length     int
}

func (q *queue) push(c *call) {
	c.prev, c.queued = q.tail, true
	if q.tail != nil {
		q.tail.next = c
	} else {
		q.head = c
	}
	q.tail = c
	q.length++
}

// pop takes the oldest out, or returns nil.
func (q *queue) pop() *call {
	c := q.head
	if c != nil {
		q.remove(c)
	}
	return c
}

// remove takes c out if it is in.
func (q *queue) remove(c *call) {
	if !c.queued {
		return
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		q.head = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		q.tail = c.prev
	}
	c.prev, c.next, c.queued = nil, nil, false
	q.length--
}
