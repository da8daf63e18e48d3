package sysx

import (
	"syscall"

	"github.com/netco-go/netco/internal/inside"
)

// For the race detector a write happens before the read that it enables,
// whether netco or package net or os makes them. Package syscall has a variable
// for that, which its Write releases and its Read acquires. netco's system
// calls do the same by a Write to no fd and a Read of 0 bytes. Both calls are
// for race builds, where time does not matter. They are pinned, since they
// enter the Go scheduler.

// raceSending is called before bytes are given to the kernel.
func raceSending() {
	pinned := inside.Pin()
	syscall.Write(-1, nil)
	pinned.Unpin()
}

// raceReceived is called after bytes were taken from fd, a socket, where a read
// of 0 bytes succeeds at once.
func raceReceived(fd int) {
	pinned := inside.Pin()
	syscall.Read(fd, nil)
	pinned.Unpin()
}
