package processor

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

func TestBuffers(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	g := started(t, 2)
	var remote *Buffer
	on(t, g.members[0], func() {
		a, b := AcquireBuffer(), AcquireBuffer()
		if a == b || len(a.Bytes()) != 4096 || len(b.Bytes()) != 4096 {
			t.Errorf("buffers of %d and %d bytes", len(a.Bytes()), len(b.Bytes()))
		}
		a.Release()
		b.Release()
		if c := AcquireBuffer(); c != b {
			t.Error("not the buffer given back last")
		}
		remote = AcquireBuffer()
		if remote != a {
			t.Error("not the buffer given back before")
		}
		b.Release()
	})
	on(t, g.members[1], func() {
		remote.Release() // which leaves it to the garbage collector
		if AcquireBuffer() == remote {
			t.Error("one Processor's buffer is in another's pool")
		}
	})
	on(t, g.members[0], func() {
		var many []*Buffer
		for range 2 * maxFreeBuffers {
			many = append(many, AcquireBuffer())
		}
		for _, b := range many {
			b.Release()
		}
		if n := len(Current().buffers.free); n != maxFreeBuffers {
			t.Errorf("%d buffers kept, want %d", n, maxFreeBuffers)
		}
		n := testing.AllocsPerRun(100, func() { AcquireBuffer().Release() })
		if n != 0 && !goruntime.RaceEnabled {
			t.Errorf("%v allocations for a buffer of the pool", n)
		}
	})
	unowned := AcquireBuffer() // of an ordinary goroutine
	if len(unowned.Bytes()) != defaultBufferSize || unowned.home != nil {
		t.Errorf("a goroutine's buffer has %d bytes", len(unowned.Bytes()))
	}
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
	within(t, 60*time.Second)
	g := scarce(t, 2)
	p := g.members[0]
	on(t, p, func() {
		a, b := AcquireBuffer(), AcquireBuffer()
		wantBytes(t, p, 2, 0)
		if TryAcquireBuffer() != nil {
			t.Error("a third buffer of two")
		}
		small := AcquireAnyBuffer()
		if n := len(small.Bytes()); n != smallBufferSize {
			t.Errorf("a small buffer of %d bytes", n)
		}
		small.Release()
		wantBytes(t, p, 2, 0)
		var order []int
		var all []coroutine.Handle
		for i := range 5 {
			all = append(all, p.PinnedHere(func() {
				x := AcquireBuffer()
				order = append(order, i)
				if len(x.Bytes()) != 4096 {
					t.Errorf("a buffer of %d bytes", len(x.Bytes()))
				}
				coroutine.Yield()
				x.Release()
			}))
		}
		coroutine.Yield()
		if len(order) != 0 || p.BufferWaits() != 6 {
			t.Errorf("%v have got one, %d waits", order, p.BufferWaits())
		}
		a.Release() // to the first
		if x := TryAcquireBuffer(); x != nil {
			t.Error("overtook those who wait")
		}
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
		if AcquireBuffer() == nil || AcquireAnyBuffer() == nil || TryAcquireBuffer() != nil {
			t.Error("not two buffers again")
		}
	})
}

// TestBufferLimitRemote: buffers that another thread releases, and leaked ones,
// go to those that wait, and count as released once. A wait for a leaked one
// runs the garbage collector.
func TestBufferLimitRemote(t *testing.T) {
	within(t, 60*time.Second)
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
			eventually(t, "a coroutine to wait", func() bool {
				return p.BufferWaits() > waits && p.Idle()
			})
			lent := b
			b = nil
			c.back(lent)
			lent = nil
			eventually(t, "the buffer to be noticed", h.Done)
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
		eventually(t, "a collection", func() bool { runtime.GC(); return ran.Load() })
	}
}

// TestLimitedProcessorIsCollected: nothing is left of a Processor that kept
// buffers under a limit.
func TestLimitedProcessorIsCollected(t *testing.T) {
	within(t, 60*time.Second)
	var last weak.Pointer[Processor]
	t.Run("life", func(t *testing.T) {
		p := scarce(t, 2).members[0]
		on(t, p, func() { AcquireBuffer().Release() })
		last = weak.Make(p)
	})
	eventually(t, "the Processor to be collected", func() bool {
		runtime.GC()
		return last.Value() == nil
	})
}

// TestBufferLimitEnds: a wait for a buffer that is ended by force unwinds and
// takes nothing with it.
func TestBufferLimitEnds(t *testing.T) {
	within(t, 60*time.Second)
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
	eventually(t, "three to wait", func() bool { return p.BufferWaits() == 3 })
	g.Advance(Stopping)
	for range 3 {
		if !<-unwound {
			t.Error("it panicked")
		}
	}
	<-g.Quiet()
	if !p.buffers.queue.empty() || p.buffers.wanted.Load() {
		t.Error("they still wait")
	}
	runtime.KeepAlive(b)
}

// TestBufferQueue: those that leave from the middle and from either end leave
// the others in order.
func TestBufferQueue(t *testing.T) {
	for gone := range 3 {
		var q bufferQueue
		var all [3]bufferWait
		for i := range all {
			q.push(&all[i])
		}
		q.remove(&all[gone])
		more := new(bufferWait)
		q.push(more)
		for i := range all {
			if i != gone {
				if q.first != &all[i] {
					t.Errorf("without %d: %d is not in front", gone, i)
				}
				q.remove(q.first)
			}
		}
		if q.first != more || q.last != more {
			t.Errorf("without %d: not the last", gone)
		}
		if q.remove(more); !q.empty() || q.last != nil {
			t.Errorf("without %d: not empty", gone)
		}
	}
}
