package coroutine

import (
	"sync"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/ilist"
)

// Waiter stands in the queue of a lock or a socket for a parked coroutine, a
// parked goroutine or a Hook. Wakers treat them alike.
//
// Use: AcquireWaiter, publish it where a waker finds it and takes it out, Park,
// Release. Exactly one waker may take it out and Wake it. A waiter whose Park
// ends otherwise (timeout, shutdown) takes itself out before it releases, under
// the lock of the queue that it was published in.
type Waiter struct {
	co *Coroutine // nil for an ordinary goroutine; constant
	// ticket is the park that the waiter is prepared for. Its owner writes it.
	// A waker that takes the waiter out while its park ends otherwise may read
	// it late, and so wake a later park early.
	ticket counter.Counter

	// Links, behind the first two words, and Tag are for the queue that holds
	// the waiter.
	ilist.Links[Waiter]
	Tag uintptr

	hook Hook // constant: for a goroutine its *semaphore; nil for a coroutine
}

// Hook is called by the wake of a Waiter that stands for no parked coroutine or
// goroutine.
type Hook interface {
	// Woken is called once, by the waker that took the waiter out, on any
	// thread, a Processor's loop among them. It must not park.
	Woken()
}

// SetHook makes Wake of a zero Waiter call h. The Waiter then stands for no
// coroutine or goroutine, and must not be parked on.
func (w *Waiter) SetHook(h Hook) { w.hook = h }

// Hook returns the argument of SetHook. Precondition: SetHook was called.
func (w *Waiter) Hook() Hook { return w.hook }

// sema returns the semaphore that a goroutine parks on, or nil if w is not a
// goroutine's.
func (w *Waiter) sema() *semaphore {
	s, _ := w.hook.(*semaphore)
	return s
}

// semaphore is what an ordinary goroutine parks on. It stands apart from the
// Waiter, since each coroutine and each Watch has a Waiter. Waker and timer
// send to one channel: a round trip under deadlines takes 770 ns, and with a
// select of two 1,330.
type semaphore struct {
	c     chan Wake   // capacity 2: a waker's WakeReady and the timer's WakeTimeout
	timer *time.Timer // sends WakeTimeout; made by the first arm

	bubble bool // it belongs to a bubble of testing/synctest; constant
}

// Woken implements Hook.
func (s *semaphore) Woken() { s.c <- WakeReady }

func newSemaphore() *semaphore { return &semaphore{c: make(chan Wake, 2)} }

// arm makes the timer end the park at a deadline in nanoseconds of
// CLOCK_MONOTONIC. A park that ends otherwise must disarm it.
func (s *semaphore) arm(deadline int64) {
	d := time.Duration(deadline - clock.Now())
	if s.timer == nil {
		s.timer = time.AfterFunc(d, func() { s.c <- WakeTimeout })
	} else {
		s.timer.Reset(d)
	}
}

// disarm stops the timer and takes back the wake that it has sent or is about
// to send. A waker's wake stays for Drain.
func (s *semaphore) disarm() {
	if !s.timer.Stop() && <-s.c == WakeReady {
		<-s.c
		s.c <- WakeReady
	}
}

var goroutineWaiters = sync.Pool{New: func() any { return &Waiter{hook: newSemaphore()} }}

// AcquireWaiter returns the caller's waiter, prepared for its next Park. A
// coroutine has one, so it can wait in one place at a time; an ordinary
// goroutine gets one from a pool. It does not allocate for a coroutine.
//
// In a bubble of testing/synctest a goroutine gets a new Waiter: a channel made
// in the bubble may be used only there, and only a wait for such a channel lets
// the bubble's clock go on.
func AcquireWaiter() *Waiter {
	if w := CurrentWorker(); w != nil {
		if co := w.co.Own(); co != nil {
			co.waiter.Prepare()
			return &co.waiter
		}
	}
	if clock.InBubble() {
		w := &Waiter{hook: newSemaphore()}
		w.sema().bubble = true
		return w
	}
	return goroutineWaiters.Get().(*Waiter)
}

// AcquireWaiter is the function AcquireWaiter for a caller that ex runs; on the
// loop it returns nil. Owner only.
func (ex *Executor) AcquireWaiter() *Waiter {
	co := ex.current.Own()
	if co == nil {
		return nil
	}
	co.waiter.Prepare()
	return &co.waiter
}

// Release gives the waiter back after its Park.
//
//go:norace
func (w *Waiter) Release() {
	w.Link, w.Prev, w.Tag = nil, nil, 0
	if w.co != nil {
		if on := w.co.w.Own(); on.watch != nil {
			on.endWatch()
		}
	} else if !w.sema().bubble {
		goroutineWaiters.Put(w)
	}
}

// Renew prepares the waiter for another queue of the same operation.
//
//go:norace
func (w *Waiter) Renew() {
	w.Link, w.Prev, w.Tag = nil, nil, 0
	w.Prepare()
}

// Prepare prepares the waiter for another Park of the same caller.
//
//go:norace
func (w *Waiter) Prepare() {
	if w.co != nil {
		w.ticket.Set(w.co.ticket)
	}
}

// Coroutine returns the coroutine that waits, or nil for an ordinary goroutine.
func (w *Waiter) Coroutine() *Coroutine { return w.co }

// InBubble reports whether the waiter is a goroutine in a bubble of
// testing/synctest. Only goroutines of that bubble may wake it.
func (w *Waiter) InBubble() bool {
	s := w.sema()
	return s != nil && s.bubble
}

// Park blocks the caller, coroutine or goroutine, until Wake. A coroutine's
// park may also end with WakeShutdown.
func (w *Waiter) Park(reason Reason) Wake {
	if w.co != nil {
		return w.co.Park(reason)
	}
	<-w.sema().c
	return WakeReady
}

// ParkUntil is Park with a deadline in nanoseconds of the caller's clock.Now.
func (w *Waiter) ParkUntil(reason Reason, deadline int64) Wake {
	if w.co != nil {
		w.co.w.Own().attached()
		return w.co.ex.Own().host.ParkUntil(w.co, reason, deadline)
	}
	s := w.sema()
	s.arm(deadline)
	wake := <-s.c
	if wake == WakeReady {
		s.disarm()
	}
	return wake
}

// Drain takes back a wake that comes after Park has ended otherwise: the caller
// has found that a waker has taken the waiter out.
func (w *Waiter) Drain() {
	if w.co == nil {
		<-w.sema().c
	}
}

// Wake ends the Park, from any thread, also before it has begun.
func (w *Waiter) Wake() { w.Waking().Wake() }

// Waking has the parts of a Waiter that a waker needs to wake it. A wake across
// threads may take long: it makes a system call, after which the kernel often
// runs the woken thread in place of the waker. A waker that gives the Waiter
// back first does not hold up the coroutine that it wakes.
type Waking struct {
	co     *Coroutine
	ticket uint64
	hook   Hook
}

// Waking returns the wake of w's Park, for the waker that took w out. If the
// Park has ended otherwise when Wake is called, a coroutine's wake has no
// effect, or ends a later Park early.
func (w *Waiter) Waking() Waking {
	if w.co != nil {
		return Waking{co: w.co, ticket: w.ticket.Load()}
	}
	return Waking{hook: w.hook}
}

// Wake is Waiter.Wake. Call it once.
func (w Waking) Wake() {
	if w.co != nil {
		w.co.MakeReady(w.ticket, WakeReady)
		return
	}
	w.hook.Woken()
}
