package sysx

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The commands of membarrier(2), of its enum membarrier_cmd.
const (
	membarrierPrivateExpedited         = 1 << 3
	membarrierRegisterPrivateExpedited = 1 << 4
)

// EnableBarriers registers the process for Barrier. The error says that the
// kernel has no membarrier(2). The first call takes the kernel some
// milliseconds.
var EnableBarriers = sync.OnceValue(func() error {
	if _, _, errno := syscall.Syscall(unix.SYS_MEMBARRIER, membarrierRegisterPrivateExpedited, 0,
		0); errno != 0 {
		return os.NewSyscallError("membarrier", errno)
	}
	return nil
})

// Barrier makes every thread of the process that runs execute a memory barrier
// before it returns. Precondition: EnableBarriers has succeeded.
func Barrier() {
	if _, _, errno := syscall.RawSyscall(unix.SYS_MEMBARRIER, membarrierPrivateExpedited, 0,
		0); errno != 0 {
		panic("netco/internal/sysx: membarrier: " + errno.Error()) // it was registered
	}
}
