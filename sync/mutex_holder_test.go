package sync_test

import (
	stdsync "sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/sync"
)

// TestHoldersHammer reads which coroutines hold the locks that others wait for,
// while these change hands: each is one of those that lock. In builds without
// the race detector none is known.
func TestHoldersHammer(t *testing.T) {
	for name, l := range map[string]stdsync.Locker{
		"Mutex": new(sync.Mutex), "RWMutex": new(rwmutex.RWMutex),
	} {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			var over atomic.Bool
			var ids stdsync.Map
			read := make(chan map[uint64]bool)
			go func() { read <- holdersUntil(&over) }()
			crowd(t, 9, func(int) {
				if co := coroutine.Current(); co != nil {
					ids.Store(co.ID(), true)
				}
				for range testenv.Rounds(4000) {
					l.Lock()
					netco.Yield()
					l.Unlock()
				}
			})
			over.Store(true)
			for id := range testenv.Await(t, read, "the reader") {
				if _, ok := ids.Load(id); !ok {
					t.Errorf("%d holds it", id)
				}
			}
		})
	}
}

// holdersUntil returns the ids of all that hold a lock that others wait for.
func holdersUntil(over *atomic.Bool) map[uint64]bool {
	seen := map[uint64]bool{}
	for !over.Load() {
		coroutine.Range(func(i coroutine.Info) bool {
			if held := i.Held(); held.By != 0 {
				seen[held.By] = true
			}
			return true
		})
	}
	return seen
}
