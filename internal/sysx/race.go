package sysx

import (
	"syscall"

	"github.com/netco-go/netco/internal/inside"
)

// For the race detector a write happens before the read that it enables,
// whichever of the two is netco's and whichever package net's or os's. Those
// have a variable in package syscall for that, which its Write releases and its
// Read acquires. So a Write to no fd and a Read of nothing do the same for what
// goes by other system calls. Both are for race builds, where time is no matter,
// and pinned, as they enter the Go scheduler and their callers may have looked.

// raceSending is to be called before bytes are given to the kernel.
func raceSending() {
	pinned := inside.Pin()
	syscall.Write(-1, nil)
	pinned.Unpin()
}

// raceReceived is to be called after bytes were taken from fd, a socket: a read
// of none succeeds there at once.
func raceReceived(fd int) {
	pinned := inside.Pin()
	syscall.Read(fd, nil)
	pinned.Unpin()
}
