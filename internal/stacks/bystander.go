package stacks

import (
	"sync"

	"github.com/netco-go/netco/asm"
)

// bystanders are goroutines, as asm.Getg returns them.
var bystanders struct {
	mu   sync.Mutex
	list map[uintptr]struct{}
}

// Bystander marks the calling goroutine as one that ends no wait of another's
// by itself, whatever it does, until over is called on it: it only waits for
// coroutines, or what it is about to do is known otherwise. All leaves it out.
func Bystander() (over func()) {
	g := asm.Getg()
	bystanders.mu.Lock()
	defer bystanders.mu.Unlock()
	if bystanders.list == nil {
		bystanders.list = map[uintptr]struct{}{}
	}
	bystanders.list[g] = struct{}{}
	return func() {
		bystanders.mu.Lock()
		defer bystanders.mu.Unlock()
		delete(bystanders.list, g)
	}
}

// IsBystander reports whether g, as asm.Getg returns it, is marked.
func IsBystander(g uintptr) bool {
	bystanders.mu.Lock()
	defer bystanders.mu.Unlock()
	_, is := bystanders.list[g]
	return is
}

// bystanderIDs returns the numbers of the goroutines that are marked.
func bystanderIDs() (map[uint64]bool, error) {
	bystanders.mu.Lock()
	defer bystanders.mu.Unlock()
	ids := map[uint64]bool{}
	for g := range bystanders.list {
		id, err := asm.Goid(g)
		if err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, nil
}
