package context

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// Context is one execution context: a goroutine that runs only while it is
// resumed. Made by Init. Not to be copied.
//
// All fields but frame.G: owned by whichever side has the thread.
type Context struct {
	frame asm.Frame // with the portable backend Coro is its *pull
	visit func()    // what the next Resume is for, if not to run on; see Visit
}

// pull is what the portable backend has in place of a coro.
func (c *Context) pull() *pull { return (*pull)(c.frame.Coro) }

// Init makes c a context that will run entry, with c as its argument, when
// first resumed. It must be called under the thread locks under which c will be
// resumed.
func (c *Context) Init(entry func(*Context)) {
	Recorded()
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

// Identify makes the calling goroutine the one that G tells of c, which has no
// Init: for a loop, which has an identity and is not resumed.
func (c *Context) Identify() {
	Recorded()
	c.frame.G = asm.Getg()
}

// G returns the identity of the context's goroutine as asm.Getg gives it; 0
// before its first run.
func (c *Context) G() uintptr { return c.frame.G }

// Resume runs c until it suspends or ends. Meanwhile the context warm, which is
// to be resumed soon, is prefetched; c itself stands for none.
func (c *Context) Resume(warm *Context) {
	if direct {
		c.Switch(warm)
	} else {
		c.pull().resume()
	}
}

// Suspend gives control back to whatever has resumed c, and returns when c is
// resumed again. It is called by c's own goroutine or, if Direct, by any
// goroutine that c's has called into, which is then the one that runs on.
func (c *Context) Suspend() {
	c.leave()
	if c.visit != nil {
		c.ServeVisit()
	}
}

// Switch is Resume and Suspend of the assembly backend for hot paths: it is
// inlined. After a Suspend by Switch the caller must do what Suspend does.
//
// The processor predicts where a return goes from the calls that it saw, which
// were another stack's: each return between the switch and the code that waited
// for it is mispredicted, some 5 ns. So one function fewer is worth having.
func (c *Context) Switch(warm *Context) {
	if goruntime.RaceEnabled {
		c.switchRace(warm)
	} else {
		asm.Switch(&c.frame, &warm.frame)
	}
}

// Visit runs f on the goroutine that is parked in c, below the function in
// which it parked, and leaves it parked there as before. To be called in place
// of Resume; f must not switch, panic or call runtime.Goexit.
//
// Precondition: what is parked in c suspended itself by Suspend, or serves
// visits after its Switch.
func (c *Context) Visit(f func()) {
	c.visit = f
	c.Resume(c)
}

// Visited reports whether c was resumed only for a Visit.
func (c *Context) Visited() bool { return c.visit != nil }

// ServeVisit calls what Visit was given and suspends c again, until c is resumed to run on.
func (c *Context) ServeVisit() {
	for c.visit != nil {
		f := c.visit
		c.visit = nil
		f()
		c.leave()
	}
}

func (c *Context) leave() {
	if direct {
		c.Switch(c)
	} else {
		c.pull().yield(struct{}{})
	}
}
