package coroutine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Hooks are called by every coroutine, a Scheduler's or a Fiber, at its start
// and at its end: for packages that keep data for each coroutine. They run as
// part of the coroutine: Current and Locals are its own, they may park, and a
// panic is its panic.
type Hooks struct {
	Start func() // before its function
	End   func() // after its function returned, panicked or was unwound; not without Start

	// Renamed, if it is not nil, is called after SetName, in a coroutine that
	// started while any hooks were in force.
	Renamed func()
}

// hooks are the hooks in force, nil for none.
var hooks atomic.Pointer[[]*Hooks]

var hooksMu sync.Mutex // changes of hooks

// AddHooks adds hooks for coroutines that start from now on, and returns a
// function that removes them for coroutines that start after its call. Start
// functions are called in the order in which they were added, End functions in
// the opposite order.
func AddHooks(h Hooks) (remove func()) {
	change := func(f func(list []*Hooks) []*Hooks) {
		hooksMu.Lock()
		defer hooksMu.Unlock()
		var list []*Hooks
		if old := hooks.Load(); old != nil {
			list = *old
		}
		if list = f(slices.Clone(list)); len(list) == 0 {
			hooks.Store(nil)
		} else {
			hooks.Store(&list)
		}
	}
	mine := &h
	change(func(list []*Hooks) []*Hooks { return append(list, mine) })
	return func() {
		change(func(list []*Hooks) []*Hooks {
			if i := slices.Index(list, mine); i >= 0 {
				list = slices.Delete(list, i, i+1)
			}
			return list
		})
	}
}

// SetName gives the calling coroutine another name, nil for none, and another
// site, a program counter or 0: for a package that starts coroutines to run its
// users' functions. *name must not change. It does not allocate. On an ordinary
// goroutine it does nothing.
func SetName(name *string, site uintptr) {
	w := CurrentWorker()
	if w == nil || w.co.Own() == nil {
		return
	}
	co := w.co.Own()
	co.name.SetOrdered(name)
	co.site.SetOrdered(uint64(site))
	list := hooks.Load()
	if list == nil || !w.hooked {
		return
	}
	for _, h := range *list {
		if h.Renamed != nil {
			h.Renamed()
		}
	}
}

// nest calls f between the hooks in list.
func nest(list []*Hooks, f func()) {
	if len(list) == 0 {
		f()
		return
	}
	h := list[0]
	if h.Start != nil {
		h.Start()
	}
	if h.End != nil {
		defer h.End()
	}
	nest(list[1:], f)
}
