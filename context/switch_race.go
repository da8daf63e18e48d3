//go:build race

package context

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// switchRace tells the detector that what c did happens before what to does next: they share a thread. It says
// nothing of contexts of other threads, so that races among those are found as among goroutines.
//
// It is not instrumented: between the release and the switch it touches what belongs to the others already.
//
//go:norace
func (c *Context) switchRace(to, warm *Context) {
	goruntime.RaceRelease(unsafe.Pointer(to))
	asm.Switch(&c.frame, &to.frame, &warm.frame)
	goruntime.RaceAcquire(unsafe.Pointer(c))
}
