package testenv

import (
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
)

// TurnsOrder has the race detector take the coroutines of one Processor for one
// goroutine until the test ends. For a test whose coroutines share variables
// without a lock because they take turns. Call it before they start.
func TurnsOrder(t testing.TB) {
	goruntime.TurnsOrder = true
	t.Cleanup(func() { goruntime.TurnsOrder = false })
}
