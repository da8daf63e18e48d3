package processor

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/counter"
)

// Buffer is a piece of memory lent for as long as it is needed. Those released
// last are lent first: they are still in the processor's cache, and a thousand
// idle connections need none.
type Buffer struct {
	data  []byte
	home  *Processor      // whose pool it came from; nil if it is unowned
	lease runtime.Cleanup // counts it as released when it is lost; zero if home has no limit
}

// Bytes returns the memory, at its full size.
func (b *Buffer) Bytes() []byte { return b.data }

// bufferPool is a Processor's LIFO of buffers. Owner, but for what it says.
//
//	in use    lent - back - freedRemotely
//	in use + kept <= max, where there is a limit; while any coroutine waits, none is kept
type bufferPool struct {
	size int // constant
	max  int // constant; 0: any number in use
	free []*Buffer

	kept  counter.Counter // in free
	lent  counter.Counter // ever
	back  counter.Counter // ever released here
	waits counter.Counter // times that none was to be had
	queue bufferQueue

	freedRemotely atomic.Uint64 // ever released on other threads, or found by the garbage collector: their memory is not used again
	wanted        atomic.Bool   // queue is not empty
}

const (
	maxFreeBuffers    = 64
	defaultBufferSize = 16 << 10
	smallBufferSize   = 2 << 10
)

// Buffers of no Processor: those of ordinary goroutines, and what goes on without
// one of the limited.
var (
	unownedBuffers = sync.Pool{New: func() any { return &Buffer{data: make([]byte, defaultBufferSize)} }}
	smallBuffers   = sync.Pool{New: func() any { return &Buffer{data: make([]byte, smallBufferSize)} }}
)

// AcquireBuffer returns a buffer of the calling coroutine's Processor; an
// ordinary goroutine gets one from a common pool.
//
// Where the memory for them is limited (Config.MaxBuffers) and all is in use, it
// parks until one is released, first come, first served. It unwinds
// ([coroutine.Unwind]) when the scheduler ends by force. A coroutine that has a
// buffer and waits for another may wait for itself: take one, or the second by
// [TryAcquireBuffer].
func AcquireBuffer() *Buffer {
	p := Here()
	if p == nil {
		return unownedBuffers.Get().(*Buffer)
	}
	if b := p.buffers.take(p); b != nil {
		return b
	}
	return p.awaitBuffer()
}

// TryAcquireBuffer is AcquireBuffer that does not park: it returns nil at the limit.
func TryAcquireBuffer() *Buffer {
	p := Here()
	if p == nil {
		return unownedBuffers.Get().(*Buffer)
	}
	return p.buffers.take(p)
}

// AcquireAnyBuffer is AcquireBuffer that does not park: at the limit it returns a
// small buffer, which does not count. It is for a caller that holds what the
// holders of buffers may need, a lock or the peer's end of a connection: it goes
// on by small pieces.
func AcquireAnyBuffer() *Buffer {
	p := Here()
	if p == nil {
		return unownedBuffers.Get().(*Buffer)
	}
	if b := p.buffers.take(p); b != nil {
		return b
	}
	p.buffers.waits.Inc()
	b := smallBuffers.Get().(*Buffer)
	b.data = b.data[:min(cap(b.data), p.buffers.size)]
	return b
}

// take returns a buffer of p's, or nil at the limit.
func (q *bufferPool) take(p *Processor) *Buffer {
	if n := len(q.free); n > 0 {
		b := q.free[n-1]
		q.free[n-1] = nil // so that it is found when it is lost
		q.free = q.free[:n-1]
		q.kept.Set(uint64(n - 1))
		q.lent.Inc()
		return b
	}
	if q.max != 0 && (!q.queue.empty() || q.inUse() >= q.max) {
		return nil
	}
	return p.lendNew()
}

// inUse returns how many are lent.
func (q *bufferPool) inUse() int {
	return int(q.lent.Own() - q.back.Own() - q.freedRemotely.Load())
}

// lendNew makes a buffer and lends it.
func (p *Processor) lendNew() *Buffer {
	b := &Buffer{data: make([]byte, p.buffers.size), home: p}
	if p.buffers.max != 0 {
		b.lease = runtime.AddCleanup(b, (*Processor).freedRemotely, p) // runs in no case while p.buffers.free has b
	}
	p.buffers.lent.Inc()
	return b
}

// Release ends the loan. The buffer must not be used after that. It may be
// released where it was not acquired.
func (b *Buffer) Release() {
	switch p := Here(); {
	case b.home != nil && p == b.home:
		p.buffers.release(p, b)
	case b.home != nil:
		b.drop()
		b.home.freedRemotely()
	case cap(b.data) == smallBufferSize:
		smallBuffers.Put(b)
	default:
		unownedBuffers.Put(b)
	}
}

func (q *bufferPool) release(p *Processor, b *Buffer) {
	q.back.Inc()
	switch n := len(q.free); {
	case !q.queue.empty():
		q.lent.Inc()
		q.handOver(p, b)
	case n < maxFreeBuffers:
		q.free = append(q.free, b)
		q.kept.Set(uint64(n + 1))
	default:
		b.drop()
	}
}

// drop is for a released buffer that is left to the garbage collector.
func (b *Buffer) drop() {
	b.lease.Stop()
	runtime.KeepAlive(b) // until here, or it might be taken for lost
}

// freedRemotely counts a buffer that another thread has released, or that the
// garbage collector has found. Any thread.
func (p *Processor) freedRemotely() {
	p.buffers.freedRemotely.Add(1)
	if p.buffers.wanted.Load() {
		p.Wake()
	}
}

// BufferBytes returns how many bytes of the Processor's buffers are in use, and
// how many are kept for use. Any thread; the two may be of slightly different
// moments.
func (p *Processor) BufferBytes() (inUse, kept uint64) {
	q := &p.buffers
	gone := q.back.Load() + q.freedRemotely.Load() // first: what is lent only rises meanwhile
	return (q.lent.Load() - gone) * uint64(q.size), q.kept.Load() * uint64(q.size)
}

// BufferWaits returns how often no buffer was to be had, and AcquireBuffer waited
// or AcquireAnyBuffer returned a small one. Any thread.
func (p *Processor) BufferWaits() uint64 { return p.buffers.waits.Load() }

// bufferWait is a coroutine that waits for a buffer.
type bufferWait struct {
	w    *coroutine.Waiter
	b    *Buffer // what it was given
	next *bufferWait
}
