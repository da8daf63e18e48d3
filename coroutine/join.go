package coroutine

import (
	"errors"
	"sync/atomic"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/inside"
)

// ErrShutdown is returned by waits that the scheduler's shutdown or the
// coroutine's Handle.Stop ended by force, and by later waits. errors.Is matches
// it with net.ErrClosed too, which libraries understand as the end of a server.
var ErrShutdown error = shutdownError{}

// shutdownError is the type of ErrShutdown.
type shutdownError struct{}

func (shutdownError) Error() string { return "netco: scheduler is shutting down" }

// Is implements the method that errors.Is calls.
func (shutdownError) Is(target error) bool { return netClosed != nil && target == netClosed }

// netClosed is net.ErrClosed; nil in a program without Processors. Constant
// once package processor is initialised.
var netClosed error

// SetNetClosed sets netClosed. The init of package processor calls it, which
// links package net in any case; package coroutine would add net to programs
// that have no sockets.
func SetNetClosed(err error) { netClosed = err }

// ErrJoinSelf is returned by a coroutine's Join of itself, which would never
// end.
var ErrJoinSelf = errors.New("netco: a coroutine cannot join itself")

// Handle identifies one incarnation of a coroutine. The zero Handle identifies
// a coroutine that has ended. Handles may be compared.
type Handle struct {
	co *Coroutine
	id uint64
}

// joins are the waiters for a coroutine's end, in the present incarnation or
// another.
type joins struct {
	mu      inside.Mutex           // also held while a waker walks the joiners
	joiners atomic.Pointer[Waiter] // a stack through Waiter.Link; stores under mu
}

// joined returns co's joins, making them if it was never joined before. Any
// thread.
func (co *Coroutine) joined() *joins {
	if co.joins.Load() == nil {
		co.joins.CompareAndSwap(nil, new(joins))
	}
	return co.joins.Load()
}

// ID returns the coroutine's id, also after its end; 0 for the zero Handle.
func (h Handle) ID() uint64 { return h.id }

// Done reports whether the coroutine has ended.
func (h Handle) Done() bool {
	if h.co != nil && h.co.id.Load() == h.id {
		return false
	}
	if goruntime.RaceEnabled && h.co != nil {
		h.co.raceOver()
	}
	return true
}

// Join waits for the coroutine to end; if it has ended, Join returns at once.
// Parks a coroutine, blocks a goroutine. It returns ErrJoinSelf, ErrShutdown
// when the wait was ended by force, or ErrBubble.
func (h Handle) Join() error {
	if h.Done() {
		return nil
	}
	co := Current()
	if co != nil && co == h.co {
		return ErrJoinSelf
	}
	err := h.join()
	if co != nil {
		co.MoveOn()
	}
	return err
}

func (h Handle) join() error {
	w := AcquireWaiter()
	defer w.Release()
	if w.InBubble() {
		return ErrBubble
	}
	j := h.co.joined()
	for !h.Done() {
		w.Prepare()
		j.add(w)
		if h.Done() {
			j.wake() // the coroutine may have ended before w was added; w wakes itself
		}
		why := w.Park(ReasonJoin)
		j.drop(w)
		if why == WakeShutdown && !h.Done() {
			return ErrShutdown
		}
	}
	return nil
}

// Waiter.Tag of a joiner.
const (
	joinReleased = iota // in no list, and no waker is about to wake it
	joinQueued          // in the list, or removed by a waker that still uses it
)

func (j *joins) add(w *Waiter) {
	atomic.StoreUintptr(&w.Tag, joinQueued)
	j.mu.Lock()
	w.Link = j.joiners.Load()
	j.joiners.Store(w)
	j.mu.Unlock()
}

// wake wakes all queued joiners. Joiners of a later incarnation, and joiners
// woken early, queue again.
func (j *joins) wake() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for w := j.joiners.Swap(nil); w != nil; {
		next, waking := w.Link, w.Waking()
		atomic.StoreUintptr(&w.Tag, joinReleased) // from here on w belongs to its owner
		waking.Wake()
		w = next
	}
}

// drop makes sure, after w's park, that no list has w and no waker uses it. If
// w is still queued, the park ended early or by force: then drop wakes all
// joiners, and the others queue again.
func (j *joins) drop(w *Waiter) {
	if atomic.LoadUintptr(&w.Tag) != joinReleased {
		j.wake()
	}
}
