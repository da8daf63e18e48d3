package goruntime_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
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
			testenv.Gives(t, ids[i], nil, "from within")(goruntime.Goid(gs[i]))
			alive.Done()
			<-end
		})
	}
	alive.Wait()
	seen := map[uint64]bool{}
	for i, g := range gs {
		id, err := goruntime.Goid(g)
		if err != nil || id != ids[i] || seen[id] {
			t.Errorf("from outside: %d, %v; want %d", id, err, ids[i])
		}
		seen[id] = true
	}
	close(end)
	group.Wait()
}
