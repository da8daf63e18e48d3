//go:build linux && !race

package channel

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
)

var (
	barriers atomic.Bool // the kernel lets us have them
	register sync.Once
)

// canBias reports whether barrier works. The first call begins to find out, on a
// thread of its own: the registration takes the kernel some milliseconds.
func canBias() bool {
	if !barriers.Load() {
		register.Do(func() { go enableBarriers() })
	}
	return barriers.Load()
}

func enableBarriers() { barriers.Store(sysx.EnableBarriers() == nil) }

// barrier makes every thread of the process execute a memory barrier. Precondition: canBias has returned true.
func barrier() { sysx.Barrier() }
