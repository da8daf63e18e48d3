package outbox

import (
	"net"
	"sync"
	"time"
)

// queue is messages in the order in which they were sent. The zero value is
// empty. All methods need Outbox.mu.
type queue struct {
	list  [][]byte // from head on
	head  int
	bytes int
}

// keptCap is how much memory an empty queue keeps, in messages.
const keptCap = 4

func (q *queue) len() int { return len(q.list) - q.head }

// fits reports whether there is room for one more message of that many bytes.
// An empty queue always has room.
func (q *queue) fits(size int, most limit) bool {
	return q.len() == 0 || q.len() < most.messages && q.bytes+size <= most.bytes
}

func (q *queue) push(p []byte) {
	if q.head > len(q.list)/2 && len(q.list) == cap(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, p)
	q.bytes += len(p)
}

// pop takes the oldest message. Precondition: the queue is not empty.
func (q *queue) pop() []byte {
	p := q.list[q.head]
	q.list[q.head] = nil
	q.head++
	q.bytes -= len(p)
	if q.len() == 0 {
		q.list, q.head = q.list[:0], 0
		if cap(q.list) > keptCap {
			q.list = nil
		}
	}
	return p
}

// take moves messages to x: one, and as many more as the limit allows.
func (q *queue) take(x *work, most limit) {
	x.messages, x.sizes = x.messages[:0], x.sizes[:0]
	for size := 0; q.len() > 0; {
		size += len(q.list[q.head])
		if n := len(x.messages); n > 0 && (n == most.messages || size > most.bytes) {
			return
		}
		p := q.pop()
		x.messages = append(x.messages, p)
		x.sizes = append(x.sizes, len(p))
	}
}

// work is a running writer's memory. It belongs to the writer.
type work struct {
	messages net.Buffers // of the batch
	pieces   net.Buffers // what is left of messages
	sizes    []int       // of messages
	copied   []byte      // messages as one
}

var works = sync.Pool{New: func() any { return new(work) }}

// write writes the batch, and returns how many bytes of it were written.
func (o *Outbox) write(x *work) (n int, err error) {
	if d := o.o.WriteTimeout; d > 0 {
		if err := o.c.SetWriteDeadline(time.Now().Add(d)); err != nil {
			return 0, err
		}
	}
	defer clear(x.messages) // the pool must not hold the senders' memory
	switch {
	case len(x.messages) == 1:
		return o.c.Write(x.messages[0])
	case o.vector != nil:
		x.pieces = x.messages
		n, err := o.vector.WriteBuffers(&x.pieces)
		x.pieces = nil
		return int(n), err
	}
	x.copied = x.copied[:0]
	for _, p := range x.messages {
		x.copied = append(x.copied, p...)
	}
	return o.c.Write(x.copied)
}
