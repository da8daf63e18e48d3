//go:build race

package context

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// switchRace is Switch, reporting to the race detector that everything this
// side of c did happens before everything the other side does next. It orders
// nothing between contexts, so the detector finds races between threads as it
// does between goroutines.
//
// It is not instrumented: between the release and the switch it accesses memory
// that already belongs to the other side.
//
//go:norace
func (c *Context) switchRace(next *Context) {
	goruntime.RaceRelease(unsafe.Pointer(c))
	asm.Switch(&c.frame, &next.frame)
	goruntime.RaceAcquire(unsafe.Pointer(c))
}
