//go:build linux && !race

package channel

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
)

var (
	hasBarriers atomic.Bool // the process is registered for membarrier(2)
	register    sync.Once
)

// canBias reports whether barrier works. The first call starts the registration
// on another thread, because it takes the kernel some milliseconds.
func canBias() bool {
	if !hasBarriers.Load() {
		register.Do(func() { go enableBarriers() })
	}
	return hasBarriers.Load()
}

func enableBarriers() { hasBarriers.Store(sysx.EnableBarriers() == nil) }

// barrier makes every thread of the process execute a memory barrier.
// Precondition: canBias has returned true.
func barrier() { sysx.Barrier() }
