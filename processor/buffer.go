package processor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/ilist"
)

// Buffer is memory lent for as long as it is needed. The buffer released last
// is lent first, as it is still in the CPU's cache. A thousand idle connections
// need none.
type Buffer struct {
	data  []byte
	home  *Processor      // the lender; nil if the buffer is unowned
	lease runtime.Cleanup // counts a leaked buffer as released; zero if home has no limit
}

// Bytes returns the memory, at its full size.
func (b *Buffer) Bytes() []byte { return b.data }

// bufferPool is a Processor's LIFO of buffers. All fields: owner, unless their
// comment says otherwise.
//
//	in use = lent - back - freedRemotely
//	in use + kept <= max, where there is a limit; while a coroutine waits,
//	none is kept
type bufferPool struct {
	size int // constant
	max  int // constant; 0: any number in use
	free []*Buffer

	kept  counter.Counter // in free
	lent  counter.Counter // ever
	back  counter.Counter // ever released here
	waits counter.Counter // times that none was available
	queue ilist.List[bufferWait]

	searched time.Duration // how long the first of queue waited before the last collection

	// Ever released on other threads, or found by the garbage collector; their
	// memory is not used again. Any thread.
	freedRemotely atomic.Uint64
	wanted        atomic.Bool // queue is not empty; any thread reads it
}

const (
	maxFreeBuffers    = 64
	defaultBufferSize = 16 << 10
	smallBufferSize   = 2 << 10
)

// Buffers of no Processor: for ordinary goroutines, and the small ones that are
// lent in place of a limited one.
var (
	unownedBuffers = sync.Pool{New: func() any { return newBuffer(defaultBufferSize) }}
	smallBuffers   = sync.Pool{New: func() any { return newBuffer(smallBufferSize) }}
)

func newBuffer(size int) *Buffer { return &Buffer{data: make([]byte, size)} }

// AcquireBuffer returns a buffer of the calling coroutine's Processor; an
// ordinary goroutine gets a buffer from a common pool.
//
// Where their number is limited (Config.MaxBuffers) and all are in use, it
// parks until one is released, first come, first served. It unwinds
// ([coroutine.Unwind]) when the Scheduler ends by force. A coroutine that holds
// a buffer and waits for a second one may wait for itself: hold only one, or
// get the second by [TryAcquireBuffer].
func AcquireBuffer() *Buffer {
	p := Current()
	if p == nil {
		return unownedBuffers.Get().(*Buffer)
	}
	if b := p.buffers.take(p); b != nil {
		return b
	}
	return p.awaitBuffer()
}

// TryAcquireBuffer is AcquireBuffer, but does not park: it returns nil at the
// limit.
func TryAcquireBuffer() *Buffer {
	p := Current()
	if p == nil {
		return unownedBuffers.Get().(*Buffer)
	}
	return p.buffers.take(p)
}

// AcquireAnyBuffer is AcquireBuffer, but does not park: at the limit it returns
// a small buffer, which does not count. It is for a caller that holds what a
// holder of a buffer may need: a lock, or the peer's end of a connection.
func AcquireAnyBuffer() *Buffer {
	p := Current()
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

// take returns one of p's buffers, or nil at the limit.
func (bp *bufferPool) take(p *Processor) (b *Buffer) {
	if goruntime.RaceEnabled {
		defer func() {
			if b != nil {
				goruntime.RaceAcquire(b.addr())
			}
		}()
		defer coroutine.Own()()
	}
	if n := len(bp.free); n > 0 {
		b = bp.free[n-1]
		bp.free[n-1] = nil // so that the garbage collector finds it if it is leaked
		bp.free = bp.free[:n-1]
		bp.kept.Set(uint64(n - 1))
		bp.lent.Inc()
		return b
	}
	if bp.max != 0 && (!bp.queue.Empty() || bp.inUse() >= bp.max) {
		return nil
	}
	return p.lendNew()
}

// inUse returns how many buffers are lent.
func (bp *bufferPool) inUse() int {
	return int(bp.lent.Own() - bp.back.Own() - bp.freedRemotely.Load())
}

// lendNew makes a buffer and lends it.
//
//go:norace
func (p *Processor) lendNew() *Buffer {
	b := &Buffer{data: make([]byte, p.buffers.size), home: p}
	if p.buffers.max != 0 {
		// The cleanup does not run while p.buffers.free has b.
		b.lease = runtime.AddCleanup(b, (*Processor).freedRemotely, p)
	}
	p.buffers.lent.Inc()
	return b
}

// Release gives the buffer back. b must not be used after that. Any thread.
func (b *Buffer) Release() {
	goruntime.RaceReleaseMerge(b.addr())
	switch p := Current(); {
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

// release is Release on the home's thread.
func (bp *bufferPool) release(p *Processor, b *Buffer) {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	bp.back.Inc()
	switch n := len(bp.free); {
	case !bp.queue.Empty():
		bp.lent.Inc()
		bp.handOver(p, b)
	case n < maxFreeBuffers:
		bp.free = append(bp.free, b)
		bp.kept.Set(uint64(n + 1))
	default:
		b.drop()
	}
}

// drop leaves a released buffer to the garbage collector.
func (b *Buffer) drop() {
	b.lease.Stop()
	runtime.KeepAlive(b) // otherwise it might count as leaked before
}

// freedRemotely counts a buffer that was released on another thread, or leaked
// and found by the garbage collector. Any thread.
func (p *Processor) freedRemotely() {
	p.buffers.freedRemotely.Add(1)
	if p.buffers.wanted.Load() {
		p.Wake()
	}
}

// BufferBytes returns how many bytes of the Processor's buffers are in use, and
// how many are kept for reuse. Any thread; the two figures may be of slightly
// different moments.
func (p *Processor) BufferBytes() (inUse, kept uint64) {
	q := &p.buffers
	gone := q.back.Load() + q.freedRemotely.Load() // first: lent only rises meanwhile
	return (q.lent.Load() - gone) * uint64(q.size), q.kept.Load() * uint64(q.size)
}

// BufferWaits returns how often no buffer was available, so that AcquireBuffer
// waited or AcquireAnyBuffer returned a small one. Any thread.
func (p *Processor) BufferWaits() uint64 { return p.buffers.waits.Load() }
