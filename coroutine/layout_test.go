package coroutine

import (
	"testing"
	"unsafe"

	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/testenv"
)

// TestLayout: what each switch, park and wake touches shares a cache line.
func TestLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the lines are laid out for 64-bit words")
	}
	if invariant.Enabled {
		t.Skip("a worker also has what is counted for package inside")
	}
	const line, header = 64, 8 // the allocator's header is in front of a chunk
	size := unsafe.Sizeof(Coroutine{})
	testenv.True(t, size%line == 0, "a Coroutine has %d bytes, which are no whole lines", size)
	for _, c := range []struct {
		what string
		end  uintptr
		most uintptr
	}{
		{"a Coroutine, to its waiter's ticket",
			unsafe.Offsetof(Coroutine{}.waiter) + unsafe.Offsetof(Waiter{}.ticket) + 8,
			line - header},
		{"a worker, to its fiber", unsafe.Offsetof(worker{}.fiber) + 8, line},
	} {
		testenv.True(t, c.end <= c.most, "%s: %d bytes, want at most %d", c.what, c.end, c.most)
	}
}
