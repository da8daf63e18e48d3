package processor

import (
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
	"weak"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/ilist"
	"github.com/netco-go/netco/internal/testenv"
)

func TestBuffers(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	g := started(t, 2)
	var remote *Buffer
	on(t, g.members[0], func() {
		a, b := AcquireBuffer(), AcquireBuffer()
		testenv.True(t, a != b && len(a.Bytes()) == 4096 && len(b.Bytes()) == 4096,
			"buffers of %d and %d bytes", len(a.Bytes()), len(b.Bytes()))
		a.Release()
		b.Release()
		testenv.Equal(t, AcquireBuffer(), b, "not the buffer given back last")
		remote = AcquireBuffer()
		testenv.Equal(t, remote, a, "not the buffer given back before")
		b.Release()
	})
	on(t, g.members[1], func() {
		remote.Release() // which leaves it to the garbage collector
		testenv.True(t, AcquireBuffer() != remote, "one Processor's buffer is in another's pool")
	})
	on(t, g.members[0], func() {
		var many []*Buffer
		for range 2 * maxFreeBuffers {
			many = append(many, AcquireBuffer())
		}
		for _, b := range many {
			b.Release()
		}
		testenv.Equal(t, len(Current().buffers.free), maxFreeBuffers, "buffers kept")
		n := testing.AllocsPerRun(100, func() { AcquireBuffer().Release() })
		testenv.True(t, n == 0 || goruntime.RaceEnabled, "%v allocations for a buffer of the pool",
			n)
	})
	unowned := AcquireBuffer() // of an ordinary goroutine
	testenv.True(t, len(unowned.Bytes()) == defaultBufferSize && unowned.home == nil,
		"a goroutine's buffer has %d bytes", len(unowned.Bytes()))
	unowned.Release()
}

// scarce makes two running Processors with so many buffers of 4 KiB each.
func scarce(t testing.TB, buffers int) *Group {
	t.Helper()
	g := NewGroup(nil)
	addLike(t, g, 2, Config{LockThread: true, Idle: 64, MaxBuffers: buffers})
	start(t, g)
	t.Cleanup(func() { end(g) })
	return g
}

func wantBytes(t *testing.T, p *Processor, inUse, kept int) {
	t.Helper()
	if u, k := p.BufferBytes(); u != uint64(inUse)*4096 || k != uint64(kept)*4096 {
		t.Errorf("%d bytes in use and %d kept, want %d and %d buffers", u, k, inUse, kept)
	}
}

// TestBufferLimit: at the limit coroutines wait, FIFO, and none is overtaken;
// what is in use and kept is counted.
func TestBufferLimit(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	g := scarce(t, 2)
	p := g.members[0]
	on(t, p, func() {
		a, b := AcquireBuffer(), AcquireBuffer()
		wantBytes(t, p, 2, 0)
		testenv.Equal(t, TryAcquireBuffer(), nil, "a third buffer of two")
		small := AcquireAnyBuffer()
		testenv.Equal(t, len(small.Bytes()), smallBufferSize, "a small buffer of N bytes")
		small.Release()
		wantBytes(t, p, 2, 0)
		var order []int
		var all []coroutine.Handle
		for i := range 5 {
			all = append(all, p.PinnedHere(func() {
				x := AcquireBuffer()
				order = append(order, i)
				testenv.Equal(t, len(x.Bytes()), 4096, "a buffer of N bytes")
				coroutine.Yield()
				x.Release()
			}))
		}
		coroutine.Yield()
		testenv.True(t, len(order) == 0 && p.BufferWaits() == 6, "%v have got one, %d waits", order,
			p.BufferWaits())
		a.Release() // to the first
		testenv.Equal(t, TryAcquireBuffer(), nil, "overtook those who wait")
		wantBytes(t, p, 2, 0)
		b.Release()
		for _, h := range all {
			h.Join()
		}
		for i, x := range order {
			if i != x {
				t.Errorf("served in the order %v", order)
				break
			}
		}
		wantBytes(t, p, 0, 2)
		testenv.True(t, AcquireBuffer() != nil && AcquireAnyBuffer() != nil &&
			TryAcquireBuffer() == nil, "not two buffers again")
	})
}

// TestBufferLimitRemote: buffers that another thread releases, and leaked ones,
// go to those that wait, and count as released once. A wait for a leaked one
// runs the garbage collector.
func TestBufferLimitRemote(t *testing.T) {
	g := scarce(t, 1)
	p := g.members[0]
	for _, c := range []struct {
		name string
		back func(*Buffer)
	}{
		{"goroutine", func(b *Buffer) { b.Release() }},
		{"coroutine", func(b *Buffer) { on(t, g.members[1], b.Release) }},
		{"lost", func(*Buffer) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b *Buffer
			on(t, p, func() { b = AcquireBuffer() })
			waits := p.BufferWaits()
			h := p.Pinned(func() { AcquireBuffer().Release() })
			testenv.Until(t, "a coroutine to wait", func() bool {
				return p.BufferWaits() > waits && p.Idle()
			})
			lent := b
			b = nil
			c.back(lent)
			lent = nil
			testenv.Until(t, "the buffer to be noticed", h.Done)
			collect(t)
			on(t, p, func() { wantBytes(t, p, 0, 1) })
		})
	}
}

// collect returns when the cleanups of what is garbage have run.
func collect(t *testing.T) {
	t.Helper()
	for range 3 {
		var ran atomic.Bool
		runtime.AddCleanup(new([64]byte), func(ran *atomic.Bool) { ran.Store(true) }, &ran)
		testenv.Until(t, "a collection", func() bool { runtime.GC(); return ran.Load() })
	}
}

// TestLimitedProcessorIsCollected: nothing is left of a Processor that kept
// buffers under a limit.
func TestLimitedProcessorIsCollected(t *testing.T) {
	var last weak.Pointer[Processor]
	t.Run("life", func(t *testing.T) {
		p := scarce(t, 2).members[0]
		on(t, p, func() { AcquireBuffer().Release() })
		last = weak.Make(p)
	})
	testenv.Until(t, "the Processor to be collected", func() bool {
		runtime.GC()
		return last.Value() == nil
	})
}

// TestBufferLimitEnds: a wait for a buffer that is ended by force unwinds and
// takes nothing with it.
func TestBufferLimitEnds(t *testing.T) {
	g := scarce(t, 1)
	p := g.members[0]
	var b *Buffer
	on(t, p, func() { b = AcquireBuffer() })
	unwound := make(chan bool, 3)
	for range 3 {
		p.Pinned(func() {
			defer func() { unwound <- recover() == nil }()
			AcquireBuffer()
			t.Error("got a buffer that is in use")
		})
	}
	testenv.Until(t, "three to wait", func() bool { return p.BufferWaits() == 3 })
	g.Advance(Stopping)
	for range 3 {
		testenv.True(t, <-unwound, "it panicked")
	}
	<-g.Quiet()
	testenv.True(t, p.buffers.queue.Empty() && !p.buffers.wanted.Load(), "they still wait")
	runtime.KeepAlive(b)
}

// TestBufferWaitLinks: ilist finds the links of a bufferWait.
func TestBufferWaitLinks(t *testing.T) {
	testenv.Equal(t, unsafe.Offsetof(bufferWait{}.Links), ilist.Offset)
}
