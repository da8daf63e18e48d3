package coroutine

import (
	"errors"

	"github.com/netco-go/netco/internal/inside"
)

// ErrNotCoroutine is returned on an ordinary goroutine by functions that only a
// coroutine may call.
var ErrNotCoroutine = errors.New("netco: called from an ordinary goroutine, not from a coroutine")

// children tracks the coroutines that must end before their parent does. A
// child has its own children struct from its start, which holds its place in
// the parent's list; any other coroutine gets one with its first child.
//
// A child joins the list before other threads can see it, and leaves it when it
// ends, on any thread. So a long-running parent's list does not grow with
// children that have ended.
type children struct {
	self   Handle    // constant: the coroutine that the struct belongs to
	parent *children // constant: the parent's struct, whose list has this one; nil for no child
	index  int       // in parent.list; under parent.mu

	mu   inside.Mutex // held for some instructions, never across a park
	list []*children  // under mu; emptied by end
}

// bind makes a new coroutine a child of the calling coroutine.
func (co *Coroutine) bind(caller *Coroutine) {
	if caller.children == nil {
		caller.children = &children{self: caller.Handle()}
	}
	parent := caller.children
	c := &children{self: co.Handle(), parent: parent}
	co.children = c
	parent.mu.Lock()
	c.index = len(parent.list)
	parent.list = append(parent.list, c)
	parent.mu.Unlock()
}

// leave removes an ended coroutine from its parent's list, if it is a child. c
// may be nil.
func (c *children) leave() {
	if c == nil || c.parent == nil {
		return
	}
	p := c.parent
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.list) - 1
	if c.index > last || p.list[c.index] != c {
		return // the parent waits for c, or has ended
	}
	p.list[c.index] = p.list[last]
	p.list[c.index].index = c.index
	p.list[last] = nil
	p.list = p.list[:last]
	if last == 0 {
		p.list = nil // the array may be large
	}
}

// any reports whether there are children.
func (c *children) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list) != 0
}

// stopsAtOnce is how many children are stopped before other coroutines get the
// thread.
const stopsAtOnce = 128

// end stops the children and waits until all have ended. Parks the parent, even
// a cancelled one: a child that computes for ever holds up its parent, as it
// would hold up the Scheduler's end.
func (c *children) end() {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.mu.Unlock()
	Shield(func() {
		for i, child := range list {
			child.self.Stop()
			if i%stopsAtOnce == stopsAtOnce-1 {
				CurrentWorker().pass(false)
			}
		}
		for _, child := range list {
			child.self.join()
		}
	})
	c.raceEnded()
}
