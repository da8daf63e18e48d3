//go:build amd64 || arm64

package asm

import (
	"errors"
	"sync"
)

// goidOffset returns the offset in a goroutine's struct of its number, which
// stack traces show.
var goidOffset = sync.OnceValues(func() (uintptr, error) { return findGoid(9, goroutineNumbers) })

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

// numbered is the searched part of a goroutine's struct, as words, and the
// goroutine's number as a stack trace shows it.
type numbered struct {
	words [searchG / 8]uintptr
	id    uint64
}

// goroutineNumbers returns n goroutines, all alive at once, so that no two have
// one struct or one number.
func goroutineNumbers(n int) []numbered {
	all := make([]numbered, n)
	var group, alive sync.WaitGroup
	alive.Add(n)
	for i := range all {
		group.Go(func() {
			g := Getg()
			for k := range all[i].words {
				all[i].words[k] = peek(g + uintptr(k)*8)
			}
			all[i].id = ownGoid()
			alive.Done()
			alive.Wait()
		})
	}
	group.Wait()
	return all
}

// findGoid returns the one offset at which every goroutine's struct has that
// goroutine's number. Other words may be equal to the number of one by chance;
// unless exactly one offset fits all, nothing is found.
func findGoid(n int, sample func(int) []numbered) (uintptr, error) {
	var found []uintptr
	all := sample(n)
	for k := range all[0].words {
		fits := true
		for i := range all {
			fits = fits && all[i].id != 0 && uint64(all[i].words[k]) == all[i].id
		}
		if fits {
			found = append(found, uintptr(k)*8)
		}
	}
	if len(found) != 1 {
		return 0, errGoid
	}
	return found[0], nil
}
