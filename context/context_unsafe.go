package context

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// Context is one execution context: a goroutine that runs only while it is
// resumed. Init makes it; it must not be copied.
// The side that has the thread owns it.
type Context struct {
	frame asm.Frame // with the portable backend Coro is its *pull
}

// pull returns the portable backend's replacement of a coro.
func (c *Context) pull() *pull { return (*pull)(c.frame.Coro) }

// Init makes c a context that will run entry, with c as its argument, when
// first resumed.
//
// Precondition: the caller holds the thread locks under which c will be
// resumed.
func (c *Context) Init(entry func(*Context)) {
	record()
	if !direct {
		c.frame.Coro = unsafe.Pointer(newPull(c, entry))
		return
	}
	c.frame.Coro = goruntime.NewCoro(func(goruntime.Coro) {
		if goruntime.RaceEnabled {
			goruntime.RaceAcquire(unsafe.Pointer(c))
			defer goruntime.RaceRelease(unsafe.Pointer(c)) // also when a Goexit ends it
		}
		c.frame.G = asm.Getg()
		entry(c)
	})
}

// Identify makes c.G return the calling goroutine. It is for a loop, which has
// an identity but no Init, since it is never resumed.
func (c *Context) Identify() { c.frame.G = asm.Getg() }

// G returns the identity of the context's goroutine as asm.Getg gives it; 0
// before its first run.
//
//go:norace
func (c *Context) G() uintptr { return c.frame.G }

// Resume runs c until it suspends or ends. On the way it prefetches next, the
// context to be resumed soon; next == c prefetches nothing.
func (c *Context) Resume(next *Context) {
	if direct {
		c.Switch(next)
	} else {
		c.pull().resume()
	}
}

// Suspend gives control back to c's resumer, and returns when c is resumed
// again. The caller is c's own goroutine or, if Direct, any goroutine that c's
// goroutine has called into; that goroutine then continues when c is resumed.
//
//go:norace
func (c *Context) Suspend() {
	if direct {
		c.Switch(c)
	} else {
		c.pull().yield(struct{}{})
	}
}

// Switch is both Resume and Suspend of the assembly backend, for hot paths: it
// is inlined.
//
// The CPU predicts a return's target from the calls that it saw, which were on
// another stack: each return between the switch and the code that waited for it
// is mispredicted and costs some 5 ns. So inlining one function pays.
//
//go:norace
func (c *Context) Switch(next *Context) {
	if goruntime.RaceEnabled {
		c.switchRace(next)
	} else {
		asm.Switch(&c.frame, &next.frame)
	}
}
