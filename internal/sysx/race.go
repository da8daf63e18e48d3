package sysx

import (
	"syscall"

	"github.com/netco-go/netco/internal/inside"
)

// For the race detector a write happens before the read that it enables,
// whichever of the two is netco's and whichever package net's or os's. Package
// syscall has a variable for that, which its Write releases and its Read
// acquires. So a Write to no fd and a Read of nothing do the same for other
// system calls. Both are for race builds, where time does not matter, and
// pinned, since they enter the Go scheduler.

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
