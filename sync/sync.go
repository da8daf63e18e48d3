package sync

import (
	"sync"

	"github.com/netco-go/netco/coroutine"
)

// Aliases of the standard library's types. None of their methods waits for a
// coroutine to do something between two calls.
type (
	Locker = sync.Locker
	Map    = sync.Map
	Pool   = sync.Pool
)

// within calls wait, unless limit has expired already, and returns the error
// that fits how the wait ended.
func within(limit coroutine.Limit, wait func(coroutine.Limit) coroutine.Wake) error {
	why := limit.Expired() // the caller holds no guard: a context has a lock of its own
	if why == coroutine.WakeReady {
		why = wait(limit)
	}
	return limit.Err(why)
}
