package context

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
)

// Context is one execution context. The zero value is a loop's; others are made by Init. Not to be copied.
//
// Whoever owns a set of contexts keeps them reachable until each has ended, see asm.Frame.
// All fields: owner: the thread.
type Context struct {
	frame asm.Frame
	relay *Context // set when it is resumed only to pass control on to this one, which is ending, or for a visit
	pull  *pull    // portable backend; else nil but in a visit's relay
}

// RelayOffset is where a Context has what Relaying looks at, for assembly that switches and cannot call that. A Context begins with its
// asm.Frame.
const RelayOffset = unsafe.Offsetof(Context{}.relay)

const _ = -unsafe.Offsetof(Context{}.frame) // it does begin with it

// Init makes c a context that will run entry, with c as its argument, when first switched to. It must be called on the
// thread, and under the thread locks, under which c will run.
func (c *Context) Init(entry func(*Context)) {
	Recorded()
	if !symmetric {
		c.pull = newPull(c, entry)
		return
	}
	c.frame.Home.Coro = goruntime.NewCoro(func(goruntime.Coro) {
		goruntime.RaceAcquire(unsafe.Pointer(c))
		c.frame.G = asm.Getg()
		entry(c)
	})
	c.frame.Home.Holder = &c.frame
	c.frame.Slot = &c.frame.Home
}

// InitLoop tells the goroutine of a loop's context, so that a prefetch of it has an address.
func (loop *Context) InitLoop() {
	Recorded()
	loop.frame.G = asm.Getg()
}

// G returns the identity of the context's goroutine as asm.Getg gives it; 0 before its first run.
func (c *Context) G() uintptr { return c.frame.G }

// Resume runs c on behalf of the loop until control comes back to the loop.
func (loop *Context) Resume(c *Context) {
	if symmetric {
		loop.Transfer(c, c)
	} else {
		c.pull.resume()
	}
}

// Suspend gives control back to the loop; it returns when c is switched to again.
func (c *Context) Suspend(loop *Context) {
	if symmetric {
		c.Transfer(loop, loop)
	} else {
		c.pull.suspend()
	}
}

// Transfer parks c and gives control to another context of the same thread, or to the loop; it returns when c is
// switched to again. The context warm, which is expected to run soon, is prefetched meanwhile; it may be to itself.
//
// Preconditions: Symmetric(); to is parked and is not c.
func (c *Context) Transfer(to, warm *Context) {
	c.Switch(to, warm)
	if c.Relaying() {
		c.PassOn()
	}
}

// Switch is Transfer for hot paths: it is inlined, and after it the caller must do what Transfer does.
//
// The processor predicts where a return goes from the calls that it saw, which were another stack's: each return
// between the switch and the code that waited for it is mispredicted, some 5 ns. So one function fewer is worth having.
func (c *Context) Switch(to, warm *Context) {
	if goruntime.RaceEnabled {
		c.switchRace(to, warm)
	} else {
		asm.Switch(&c.frame, &to.frame, &warm.frame)
	}
}

// Relaying reports whether c was resumed only to pass control on by PassOn, or for a Visit.
func (c *Context) Relaying() bool { return c.relay != nil }

// PassOn gives control on for the sake of an ending context, see Exit. The loop goes by way of whoever is parked in
// the ending one's home slot, and so takes that place; the one met there goes on to the ending one itself. A visit is received first.
func (c *Context) PassOn() {
	for c.relay != nil {
		ending := c.relay
		c.relay = nil
		if ending.pull != nil {
			by := ending.pull.visit.receive()
			c.Switch(by, by)
		} else if c.isLoop() {
			k := of(ending.frame.Home.Holder)
			k.relay = ending
			c.Switch(k, k)
		} else {
			c.Switch(ending, ending)
		}
	}
}

// of returns the context that a frame is the first field of.
func of(f *asm.Frame) *Context { return (*Context)(unsafe.Pointer(f)) }

func (c *Context) isLoop() bool { return c.frame.Home.Coro == nil }

// Successor returns the context that sits in c's home slot and so would run on if c ended now; a loop's has no Init. Nil
// with a backend that is not symmetric.
func (c *Context) Successor() *Context {
	if !symmetric {
		return nil
	}
	return of(c.frame.Home.Holder)
}

// ExitTo lets c's end resume its Successor, which must be ready to run and expects to be switched to. It is the last call of c's
// entry function, in the place of Exit.
func (c *Context) ExitTo(successor *Context) {
	goruntime.RaceRelease(unsafe.Pointer(successor))
}

// Exit makes the loop ready for c's end. It is the last call of c's entry function, and c must not switch after it:
// when it returns, the loop sits in c's home slot, from which the runtime resumes it when the goroutine ends.
func (c *Context) Exit(loop *Context) {
	if !symmetric {
		return
	}
	if loop.frame.Slot != &c.frame.Home {
		loop.relay = c
		c.Transfer(loop, loop)
	}
	goruntime.RaceRelease(unsafe.Pointer(loop))
}
