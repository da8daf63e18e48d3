package goruntime

import _ "unsafe" // for go:linkname

// EnterBlocked begins a system call that is expected to block for long, and
// gives the caller's P to other goroutines at once: runtime.entersyscallblock.
// A call begun by syscall.Syscall keeps its P, with the goroutines and timers
// there, until sysmon takes it, which may be 10 ms later. The caller must not
// split its stack, and must not return before it has called ExitBlocked. The
// runtime keeps both functions for libraries that use them, as it does Yield's.
//
//go:linkname EnterBlocked runtime.entersyscallblock
func EnterBlocked()

// ExitBlocked ends the system call.
//
//go:linkname ExitBlocked runtime.exitsyscall
func ExitBlocked()
