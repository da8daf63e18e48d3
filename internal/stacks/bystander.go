package stacks

import (
	"sync"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// bystanders are the numbers of goroutines, by what asm.Getg returns on them.
var bystanders = struct {
	mu  sync.Mutex
	ids map[uintptr]uint64
}{ids: map[uintptr]uint64{}}

// Bystander marks the calling goroutine, until it calls over: by itself it ends
// no wait of another goroutine or coroutine. It only waits for coroutines, or
// the search for deadlocks knows its next actions in another way.
func Bystander() (over func()) {
	g := asm.Getg()
	id, _ := goruntime.Goid(g) // 0, which no goroutine has, if this Go release is not understood
	bystanders.mu.Lock()
	defer bystanders.mu.Unlock()
	bystanders.ids[g] = id
	return func() {
		bystanders.mu.Lock()
		defer bystanders.mu.Unlock()
		delete(bystanders.ids, g)
	}
}

// IsBystander reports whether g, as asm.Getg returns it, is marked.
func IsBystander(g uintptr) bool {
	bystanders.mu.Lock()
	defer bystanders.mu.Unlock()
	_, is := bystanders.ids[g]
	return is
}

// bystanderIDs returns the numbers of the goroutines that are marked.
func bystanderIDs() map[uint64]bool {
	bystanders.mu.Lock()
	defer bystanders.mu.Unlock()
	ids := map[uint64]bool{}
	for _, id := range bystanders.ids {
		ids[id] = true
	}
	return ids
}
