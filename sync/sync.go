package sync

import (
	"sync"

	"github.com/netco-go/netco/rwmutex"
)

// RWMutex is a reader/writer lock; see there.
type RWMutex = rwmutex.RWMutex

// Types of the standard library, see there. None of their methods waits for
// what a coroutine does between two calls.
type (
	Locker = sync.Locker
	Map    = sync.Map
	Pool   = sync.Pool
)
