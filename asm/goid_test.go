package asm_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
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
			testenv.NoError(t, testenv.Err(fmt.Fscanf(trace, "goroutine %d ", &ids[i])))
			gs[i] = asm.Getg()
			testenv.Gives(t, ids[i], nil, "from within")(asm.Goid(gs[i]))
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
	testenv.OK(t, err)
	for range 10 {
		got := make(chan uint64)
		go func() { got <- uint64(asm.Load(asm.Getg() + offset)) }()
		other := <-got
		id, err := asm.Goid(asm.Getg())
		own := uint64(asm.Load(asm.Getg() + offset))
		testenv.True(t, err == nil && own == id && other != own && other != 0,
			"numbers %d and, of another goroutine, %d; want %d, %v", own, other, id, err)
	}
}
