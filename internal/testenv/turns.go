package testenv

import (
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

// TurnsOrder has the race detector treat the coroutines of a Processor as one
// goroutine until the test ends. It is for tests whose coroutines take turns
// and so share variables without a lock. Call it before they start.
func TurnsOrder(t testing.TB) {
	goruntime.TurnsOrder = true
	t.Cleanup(func() { goruntime.TurnsOrder = false })
}
