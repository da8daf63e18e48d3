package sysx_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// TestBarriers: where the kernel has them, they can be had, any number of
// times.
func TestBarriers(t *testing.T) {
	const query, needed = 0, 1<<3 | 1<<4
	commands, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, query, 0, 0)
	has := errno == 0 && commands&needed == needed
	for range 2 {
		if err := sysx.EnableBarriers(); (err == nil) != has {
			t.Fatalf("membarrier(2) has commands %#x, %v: %v", commands, errno, err)
		}
	}
	if has {
		sysx.Barrier()
	}
}
