//go:build race

package context

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// switchRace tells the race detector that what this side of c did happens before
// what the other side does next. It says nothing of other contexts, so that
// races among threads are found as among goroutines.
//
// It is not instrumented: between the release and the switch it touches what
// belongs to the other side already.
//
//go:norace
func (c *Context) switchRace(warm *Context) {
	goruntime.RaceRelease(unsafe.Pointer(c))
	asm.Switch(&c.frame, &warm.frame)
	goruntime.RaceAcquire(unsafe.Pointer(c))
}
