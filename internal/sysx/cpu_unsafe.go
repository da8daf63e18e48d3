package sysx

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CPU returns the number of the CPU that the calling thread runs on.
func CPU() int {
	var cpu uint32
	syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return int(cpu)
}

// MoveThread moves the calling thread to the first of its CPUs for which free
// returns true, and returns that CPU; -1 if there is none, or the thread may
// not move. The set of CPUs that the thread may use stays the same.
func MoveThread(free func(cpu int) bool) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if unix.SchedGetaffinity(0, &all) != nil {
		return -1
	}
	for cpu, left := 0, all.Count(); left > 0; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		left--
		if !free(cpu) {
			continue
		}
		one.Set(cpu)
		if unix.SchedSetaffinity(0, &one) != nil {
			return -1
		}
		unix.SchedSetaffinity(0, &all)
		return cpu
	}
	return -1
}
