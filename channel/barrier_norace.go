//go:build linux && !race

package channel

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// The commands of membarrier(2).
const (
	membarrierPrivateExpedited         = 1 << 3
	membarrierRegisterPrivateExpedited = 1 << 4
)

var (
	barriers atomic.Bool // the kernel lets us have them
	register sync.Once
)

// canBias reports whether barrier works. It begins to find out when it is first called, on a thread of its own: the registration takes
// the kernel some milliseconds.
func canBias() bool {
	if !barriers.Load() {
		register.Do(func() { go enableBarriers() })
	}
	return barriers.Load()
}

func enableBarriers() {
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierRegisterPrivateExpedited, 0, 0)
	barriers.Store(errno == 0)
}

// barrier makes every thread of the process execute a memory barrier. Precondition: canBias has returned true.
func barrier() {
	if _, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, membarrierPrivateExpedited, 0, 0); errno != 0 {
		panic("netco/channel: membarrier: " + errno.Error()) // it was registered
	}
}
