//go:build amd64 || arm64

package asm

import (
	"errors"
	"runtime"
	"sync"
)

// goidOffset returns the offset in a goroutine's struct of its number, which
// stack traces show.
var goidOffset = sync.OnceValues(func() (uintptr, error) {
	offset, ok := agreed(9, goidPlaces)
	if !ok {
		return 0, errGoid
	}
	return offset, nil
})

var errGoid = errors.New(
	"netco/asm: where this Go release keeps a goroutine's number was not found")

// GoidOffset returns the offset in a goroutine's struct of its number. An error
// means that this Go release is not understood. The first call takes some 50
// µs.
func GoidOffset() (uintptr, error) { return goidOffset() }

// Goid returns the number, as stack traces show it, of the goroutine g, an
// identity that Getg returned once: its struct is never freed, but may belong
// to a later goroutine. From any thread. An error means that this Go release is
// not understood. The first call takes some 50 µs.
func Goid(g uintptr) (uint64, error) {
	offset, err := goidOffset()
	if err != nil {
		return 0, err
	}
	return uint64(peek(g + offset)), nil
}

// goidPlaces returns the offsets in the calling goroutine's struct at which its
// number is. It may be elsewhere too, by chance.
func goidPlaces() map[uintptr]bool {
	g, id := Getg(), ownGoid()
	places := map[uintptr]bool{}
	for k := uintptr(0); k < searchG; k += 8 {
		if uint64(peek(g+k)) == id {
			places[k] = true
		}
	}
	return places
}

// agreed calls places on n goroutines, all alive at once, so that no two have
// one struct, number or thread. It returns the one place that all have found;
// false unless there is exactly one. places may lock its thread.
func agreed[P comparable](n int, places func() map[P]bool) (at P, ok bool) {
	found := make([]map[P]bool, n)
	var alive, over sync.WaitGroup
	alive.Add(n)
	for i := range found {
		over.Go(func() {
			found[i] = places()
			alive.Done()
			alive.Wait()
			runtime.UnlockOSThread()
		})
	}
	over.Wait()
	in := map[P]int{}
	for _, places := range found {
		for at := range places {
			in[at]++
		}
	}
	fit := 0
	for place, times := range in {
		if times == n {
			at = place
			fit++
		}
	}
	return at, fit == 1
}
