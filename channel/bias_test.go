package channel

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

// TestRevocationHammer revokes a bias while its owner's thread goes in and out.
// The revocation ends when the owner is out, for good.
func TestRevocationHammer(t *testing.T) {
	if goruntime.RaceEnabled || sysx.EnableBarriers() != nil {
		t.Skip("this kernel has no membarrier(2), or this is a race build: no channel has an owner")
	}
	ex := new(coroutine.Executor)
	for round := range testenv.Rounds(6_000) {
		var b bias
		b.owner.Store(ex)
		var begun, revoked atomic.Bool
		owner := make(chan bool)
		go func() {
			late := false
			for b.enter(ex) {
				if !begun.Load() {
					begun.Store(true)
				}
				for i := 0; i < 500 && !late && b.owner.Load() == shared; i++ {
					late = revoked.Load() // it is to wait for exit
				}
				b.exit()
			}
			owner <- late
		}()
		for !begun.Load() {
			runtime.Gosched()
		}
		for i := range rand.IntN(64) {
			runtime.KeepAlive(&i) // some nanoseconds
		}
		b.lock()
		revoked.Store(true)
		b.guard.Unlock()
		if <-owner {
			t.Fatalf("round %d: the owner is inside after the revocation", round)
		}
	}
}
