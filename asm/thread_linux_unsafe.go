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
// thread of its own. The thread it is locked to is known and is the one it runs
// on, so another word of the goroutine's struct is equal, and a word of the
// thread's struct is the thread's number. No layout is assumed beyond the
// sizes; unless exactly one pair of offsets fits, nothing is found.
func findThread() (threadPlace, error) {
	const n = 4
	if !LocksKnown() {
		return threadPlace{}, errThread
	}
	var fits [n]map[threadPlace]bool
	var alive, over sync.WaitGroup
	alive.Add(n)
	for i := range fits {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			alive.Done()
			alive.Wait() // so that no two have one thread
			fits[i] = threadPlaces(Getg(), uintptr(syscall.Gettid()))
		})
	}
	over.Wait()
	var found []threadPlace
	for at := range fits[0] {
		if fits[1][at] && fits[2][at] && fits[3][at] {
			found = append(found, at)
		}
	}
	if len(found) != 1 {
		return threadPlace{}, errThread
	}
	return found[0], nil
}

func threadPlaces(g, tid uintptr) map[threadPlace]bool {
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
