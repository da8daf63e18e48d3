package netco

import (
	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/scheduler"
)

// ErrNotCoroutine is returned on an ordinary goroutine by what only a coroutine
// can do; it works with errors.Is.
var ErrNotCoroutine = coroutine.ErrNotCoroutine

// GoChild is Go for a coroutine that does not outlive the caller, its parent.
// When the parent ends, by return, by runtime.Goexit, by a panic that
// Options.OnPanic has dealt with or by force, each of its children is stopped
// ([Handle.Stop]): its waits end as when the Scheduler ends by force. The
// parent has ended only when they all have, so that nothing is left of it when
// Join returns: its own deferred calls run first, then the children end, then
// its Locals are dropped. Children of children go the same way. A child that
// ends by itself is forgotten at once.
//
// To wait for children that are to finish their work, Join them or use a
// sync.Group before the parent ends. A child that takes no notice of being
// stopped holds up its parent's end.
//
// The errors are ErrNotCoroutine on an ordinary goroutine, and Go's. It does
// not park. It allocates some 100 bytes more than Go.
//
//go:noinline
func GoChild(fn func()) (Handle, error) { return child("", fn, asm.CallerPC()) }

// GoChildNamed is GoChild with a name for the coroutine, as GoNamed.
//
//go:noinline
func GoChildNamed(name string, fn func()) (Handle, error) { return child(name, fn, asm.CallerPC()) }

func child(name string, fn func(), site uintptr) (Handle, error) {
	sp, err := coroutine.AsChild(scheduler.Spawn{Fn: fn, Name: name, Site: site})
	if err != nil {
		return Handle{}, err
	}
	return start(sp)
}
