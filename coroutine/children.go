package coroutine

import (
	"errors"
	"math"

	"github.com/netco-go/netco/internal/inside"
)

// ErrNotCoroutine is returned on an ordinary goroutine by functions that only a
// coroutine may call.
var ErrNotCoroutine = errors.New("netco: called from an ordinary goroutine, not from a coroutine")

// children tracks the coroutines that must end before their parent does. A
// child has its own children struct from its start, which holds its place in
// the parent's list; any other coroutine has one from its first child on.
//
// A child is listed from before other threads can see it until after it has
// ended, so that an empty list means that all have ended. Its end takes it out,
// on whatever thread it ends; so a long-running parent's list does not grow
// with children that have ended.
type children struct {
	of     Handle    // constant: the coroutine whose children these are
	parent *children // constant: its parent's, which lists it; nil if it is no child
	index  int       // in parent.list; under parent.mu

	mu     inside.Mutex // held for some instructions, never across a park
	list   []*children  // under mu
	waiter *Waiter      // the parent's at its end, to be woken when the list is empty; under mu
}

// bind makes a new coroutine a child of the calling one.
func (co *Coroutine) bind(caller *Coroutine) {
	if caller.children == nil {
		caller.children = &children{of: caller.Handle()}
	}
	parent := caller.children
	c := &children{of: co.Handle(), parent: parent}
	co.children = c
	parent.mu.Lock()
	c.index = len(parent.list)
	parent.list = append(parent.list, c)
	parent.mu.Unlock()
}

// leave takes a child that has ended out of its parent's list, if it is one. c
// may be nil.
func (c *children) leave() {
	if c == nil || c.parent == nil {
		return
	}
	p := c.parent
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.list) - 1
	p.list[c.index] = p.list[last]
	p.list[c.index].index = c.index
	p.list[last] = nil
	p.list = p.list[:last]
	if last > 0 {
		return
	}
	p.list = nil // it may have been long
	if p.waiter != nil {
		p.waiter.Wake()
		p.waiter = nil
	}
}

// any reports whether there are children. c may be nil.
func (c *children) any() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list) != 0
}

// stopsAtOnce is how many children are stopped before mu and the thread are
// released to others.
const stopsAtOnce = 128

// end stops the children and waits until all have ended. Parks the parent, even
// if it is to end by force: a child that computes for ever holds up its parent,
// as it would hold up the Scheduler's end.
//
// The last children in the list are stopped first. leave only ever moves a
// child towards the front, and none is added, since the parent is here; so all
// children from stopping on have been stopped. A child that leave has moved may
// be stopped twice, which has no further effect.
func (c *children) end() {
	Shield(func() {
		w := AcquireWaiter()
		defer w.Release()
		for stopping := math.MaxInt; ; {
			c.mu.Lock()
			n := min(stopping, len(c.list))
			stopping = max(n-stopsAtOnce, 0)
			for _, child := range c.list[stopping:n] {
				child.of.Stop()
			}
			switch {
			case len(c.list) == 0:
				c.mu.Unlock()
				return
			case stopping > 0:
				c.mu.Unlock()
				CurrentWorker().pass(false)
			default:
				w.Prepare()
				c.waiter = w
				c.mu.Unlock()
				w.Park(ReasonJoin)
			}
		}
	})
	c.raceEnded()
}
