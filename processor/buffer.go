package processor

import "sync"

// Buffer is a piece of memory lent for as long as it is needed. Those given back last are lent first: they are still in
// the processor's cache, and a thousand idle connections need none.
type Buffer struct {
	data []byte
	home *Processor // whose pool it came from, nil for none
}

// Bytes returns the memory, at its full size.
func (b *Buffer) Bytes() []byte { return b.data }

// bufferPool is a Processor's LIFO of buffers. Owner.
type bufferPool struct {
	size int
	free []*Buffer
}

const (
	maxFreeBuffers    = 64
	defaultBufferSize = 16 << 10
)

var strayBuffers = sync.Pool{New: func() any { return &Buffer{data: make([]byte, defaultBufferSize)} }}

// AcquireBuffer returns a buffer of the calling coroutine's Processor; an ordinary goroutine gets one from a common pool.
// It does not park.
func AcquireBuffer() *Buffer {
	p := Here()
	if p == nil {
		return strayBuffers.Get().(*Buffer)
	}
	if n := len(p.buffers.free); n > 0 {
		b := p.buffers.free[n-1]
		p.buffers.free = p.buffers.free[:n-1]
		return b
	}
	return &Buffer{data: make([]byte, p.buffers.size), home: p}
}

// Release gives the buffer back. It must not be used after that. It may be released where it was not acquired.
func (b *Buffer) Release() {
	switch p := Here(); {
	case b.home == nil:
		strayBuffers.Put(b)
	case p == b.home && len(p.buffers.free) < maxFreeBuffers:
		p.buffers.free = append(p.buffers.free, b)
	}
}
