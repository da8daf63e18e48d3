//go:build amd64 || arm64

package asm

import "runtime"

// Where returns the running goroutine's identity, as Getg, and how it is locked
// to its thread: 0 if it is not, else a number made of the thread, the count of
// runtime.LockOSThread calls in force, and the count of the runtime's own
// locks: a callback from C is one, package initialisation another. It costs
// about a nanosecond. Unless LocksKnown, the number is 1 for any locks, and
// Where takes a microsecond.
//
// The runtime throws when a goroutine switches to a coroutine under other locks
// than the coroutine was created under. A caller that compares them first can
// return an error instead.
var Where = whereSlow

// LocksKnown reports whether Where distinguishes states of locks.
func LocksKnown() bool { return lockedExtOffset != 0 }

// peek returns the word at addr, in one of the runtime's structs. It is
// assembly because no Go pointer may be made of such an address.
var peek = entry[func(addr uintptr) uintptr](peekEntryPC)

// Locked reports whether the goroutine g, an identity that Getg returned once,
// is locked to its thread. From any thread. Unless LocksKnown, it returns
// false.
func Locked(g uintptr) bool { return lockedExtOffset != 0 && peek(g+lockedmOffset) != 0 }

// Load returns the word at addr.
//
// Precondition: addr is in memory of the runtime's that is never unmapped, such
// as a goroutine's struct.
func Load(addr uintptr) uintptr { return peek(addr) }

// How many bytes of a goroutine's and a thread's struct are searched: fewer
// than the structs have, to stay inside them.
const (
	searchG = 400
	searchM = 1200
)

func init() { findLocks() }

// findLocks finds where the runtime records LockOSThread, by calling it and
// searching for the words that follow: the thread in the goroutine's struct,
// and the count in the thread's. No layout is assumed beyond the sizes; unless
// exactly one word follows, nothing is found.
//
// The count of the runtime's own locks is assumed to follow that of
// LockOSThread, and nothing is found unless that holds here: packages are
// initialised under one such lock, and a new goroutine has none.
func findLocks() {
	done := make(chan struct{})
	var lockedm, ext, internal uintptr
	go func() { // a new goroutine, which is not locked
		defer close(done)
		lockedm, ext, internal = searchLocks()
	}()
	<-done
	if lockedm == 0 || ext == 0 || internal != 0 {
		return
	}
	if m := peek(Getg() + lockedm); m == 0 || count(m, ext+4) == 0 {
		return
	}
	lockedmOffset, lockedExtOffset = lockedm, ext
	Where = entry[func() (g, locks uintptr)](whereEntryPC)
}

// searchLocks returns the offset of the thread in a goroutine's struct, the
// offset of the count in a thread's struct, and the value that follows the
// count; or zeros.
func searchLocks() (lockedm, ext, internal uintptr) {
	g := Getg()
	var free [searchG / 8]uintptr
	for i := range free {
		free[i] = peek(g + uintptr(i)*8)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var m uintptr
	for i := range free {
		// The word was empty; it must be the thread that the goroutine was on
		// all the time.
		word := peek(g + uintptr(i)*8)
		if free[i] != 0 || word == 0 || !contains(free[:], word) {
			continue
		}
		if lockedm != 0 {
			return 0, 0, 0
		}
		lockedm, m = uintptr(i)*8, word
	}
	if lockedm == 0 {
		return 0, 0, 0
	}
	ext = searchCount(m)
	return lockedm, ext, uintptr(count(m, ext+4))
}

// searchCount returns the offset in m's struct of the 32-bit number that goes
// 1, 2, 3, 2, 1 with the calls, or 0.
func searchCount(m uintptr) (found uintptr) {
	var follows [searchM / 4]int
	match := func(want uint32) {
		for i := range follows {
			if count(m, uintptr(i)*4) == want {
				follows[i]++
			}
		}
	}
	match(1)
	runtime.LockOSThread()
	match(2)
	runtime.LockOSThread()
	match(3)
	runtime.UnlockOSThread()
	match(2)
	runtime.UnlockOSThread()
	match(1)
	for i, n := range follows {
		if n != 5 {
			continue
		}
		if found != 0 {
			return 0
		}
		found = uintptr(i) * 4
	}
	return found
}

func count(m, offset uintptr) uint32 { return uint32(peek(m + offset)) }

func contains(words []uintptr, x uintptr) bool {
	for _, w := range words {
		if w == x {
			return true
		}
	}
	return false
}
