package processor

import (
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

func TestBuffers(t *testing.T) {
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
		if n := len(Here().buffers.free); n != maxFreeBuffers {
			t.Errorf("%d buffers kept, want %d", n, maxFreeBuffers)
		}
		if n := testing.AllocsPerRun(100, func() { AcquireBuffer().Release() }); n != 0 && !goruntime.RaceEnabled {
			t.Errorf("%v allocations for a buffer of the pool", n)
		}
	})
	unowned := AcquireBuffer() // of an ordinary goroutine
	if len(unowned.Bytes()) != defaultBufferSize || unowned.home != nil {
		t.Errorf("a goroutine's buffer has %d bytes", len(unowned.Bytes()))
	}
	unowned.Release()
}
