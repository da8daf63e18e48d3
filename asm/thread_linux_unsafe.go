//go:build linux && (amd64 || arm64)

package asm

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
)

// threadOffsets returns the offset in a goroutine's struct of the thread that
// it runs on, and in a thread's struct of its number in the operating system.
var threadOffsets = sync.OnceValues(findThread)

type threadPlace struct{ m, id uintptr }

var errThread = errors.New(
	"netco/asm: where this Go release keeps a goroutine's thread was not found")

// ThreadOf returns the operating system's number of the thread that runs the
// goroutine g, an identity that Getg returned once; 0 if none does. From any
// thread; the answer may be out of date when it arrives. An error means that
// this Go release is not understood. The first call takes some 100 µs.
func ThreadOf(g uintptr) (tid int, err error) {
	at, err := threadOffsets()
	if err != nil {
		return 0, err
	}
	m := peek(g + at.m)
	if m == 0 {
		return 0, nil
	}
	return int(peek(m + at.id)), nil
}

// findThread searches the structs of several goroutines, each locked to a
// thread of its own. No layout is assumed beyond the sizes; unless exactly one
// pair of offsets fits, nothing is found.
func findThread() (threadPlace, error) {
	if LocksKnown() {
		if at, ok := agreed(4, threadPlaces); ok {
			return at, nil
		}
	}
	return threadPlace{}, errThread
}

// threadPlaces locks the calling goroutine to its thread. That thread is known
// and is the one it runs on, so another word of the goroutine's struct is
// equal, and a word of the thread's struct is the thread's number.
func threadPlaces() map[threadPlace]bool {
	runtime.LockOSThread()
	g, tid := Getg(), uintptr(syscall.Gettid())
	m := peek(g + lockedmOffset)
	places := map[threadPlace]bool{}
	for k := uintptr(0); k < searchG; k += 8 {
		if k == lockedmOffset || peek(g+k) != m {
			continue
		}
		for id := uintptr(0); id < searchM; id += 8 {
			if peek(m+id) == tid {
				places[threadPlace{k, id}] = true
			}
		}
	}
	return places
}
