package asm_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/netco-go/netco/asm"
)

// TestGoid: the numbers of many goroutines, read by themselves and by another,
// are those of their stack traces.
func TestGoid(t *testing.T) {
	var group, alive sync.WaitGroup
	gs, ids := make([]uintptr, 100), make([]uint64, 100)
	alive.Add(len(gs))
	end := make(chan struct{})
	for i := range gs {
		group.Go(func() {
			var buf [64]byte
			trace := bytes.NewReader(buf[:runtime.Stack(buf[:], false)])
			if _, err := fmt.Fscanf(trace, "goroutine %d ", &ids[i]); err != nil {
				t.Error(err)
			}
			gs[i] = asm.Getg()
			if id, err := asm.Goid(gs[i]); err != nil || id != ids[i] {
				t.Errorf("from within: %d, %v; want %d", id, err, ids[i])
			}
			alive.Done()
			<-end
		})
	}
	alive.Wait()
	seen := map[uint64]bool{}
	for i, g := range gs {
		id, err := asm.Goid(g)
		if err != nil || id != ids[i] || seen[id] {
			t.Errorf("from outside: %d, %v; want %d", id, err, ids[i])
		}
		seen[id] = true
	}
	close(end)
	group.Wait()
}

// TestGoidOffset: Load finds a goroutine's number there.
func TestGoidOffset(t *testing.T) {
	offset, err := asm.GoidOffset()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		got := make(chan uint64)
		go func() { got <- uint64(asm.Load(asm.Getg() + offset)) }()
		other := <-got
		id, err := asm.Goid(asm.Getg())
		own := uint64(asm.Load(asm.Getg() + offset))
		if err != nil || own != id || other == own || other == 0 {
			t.Errorf("numbers %d and, of another goroutine, %d; want %d, %v", own, other, id, err)
		}
	}
}
