package epoller

import (
	"sync/atomic"

	"github.com/netco-go/netco/internal/inside"
)

const chunkSize = 256

// entry is one slot. Releasing it increments its generation; v is stored before
// the fd is added to epoll and cleared after the increment. So a lookup that
// loads v first and then finds its generation has the v of that generation.
type entry[T any] struct {
	v   atomic.Pointer[T]
	gen atomic.Uint32
}

// slab is the table of slots. Entries never move, so lookups take no lock.
type slab[T any] struct {
	chunks atomic.Pointer[[]*[chunkSize]entry[T]] // replaced as a whole when it grows
	used   atomic.Int32

	mu   inside.Mutex
	free []int32 // LIFO; under mu
}

func (s *slab[T]) entry(slot int32) *entry[T] {
	chunks := *s.chunks.Load()
	return &chunks[uint32(slot)/chunkSize][uint32(slot)%chunkSize]
}

func (s *slab[T]) alloc(v *T) Registration {
	s.mu.Lock()
	if len(s.free) == 0 {
		s.growLocked()
	}
	slot := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.mu.Unlock()
	s.used.Add(1)
	e := s.entry(slot)
	e.v.Store(v)
	return Registration{slot, e.gen.Load()}
}

func (s *slab[T]) growLocked() {
	var old []*[chunkSize]entry[T]
	if p := s.chunks.Load(); p != nil {
		old = *p
	}
	first := int32(len(old) * chunkSize)
	chunks := append(old[:len(old):len(old)], new([chunkSize]entry[T]))
	s.chunks.Store(&chunks)
	for slot := first + chunkSize - 1; slot >= first; slot-- {
		s.free = append(s.free, slot)
	}
}

func (s *slab[T]) release(r Registration) {
	e := s.entry(r.slot)
	if !e.gen.CompareAndSwap(r.gen, r.gen+1) {
		panic("netco/epoller: a registration was released twice")
	}
	e.v.Store(nil)
	s.used.Add(-1)
	s.mu.Lock()
	s.free = append(s.free, r.slot)
	s.mu.Unlock()
}

// lookup returns what is registered in slot under generation gen, or nil.
func (s *slab[T]) lookup(slot int32, gen uint32) *T {
	e := s.entry(slot)
	v := e.v.Load()
	if e.gen.Load() != gen {
		return nil
	}
	return v
}

func (s *slab[T]) each(f func(*T)) {
	p := s.chunks.Load()
	if p == nil {
		return
	}
	for _, c := range *p {
		for i := range c {
			if v := c[i].v.Load(); v != nil {
				f(v)
			}
		}
	}
}
