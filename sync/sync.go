package sync

import (
	"sync"

	"github.com/netco-go/netco/coroutine"
)

// Types of the standard library, see there. None of their methods waits for
// what a coroutine does between two calls.
type (
	Locker = sync.Locker
	Map    = sync.Map
	Pool   = sync.Pool
)

// within calls wait, unless limit has expired before it begins, and returns the
// error of its end.
func within(limit coroutine.Limit, wait func(coroutine.Limit) coroutine.Wake) error {
	why := limit.Expired() // the caller holds no guard: a context has a lock of its own
	if why == coroutine.WakeReady {
		why = wait(limit)
	}
	return limit.Err(why)
}
