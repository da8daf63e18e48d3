package coroutine

import (
	"sync"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
)

// Waiter is one parked coroutine or goroutine as a lock or a socket queues it, or a Hook in place of one: it makes them look
// alike to whoever wakes them.
//
// Use: AcquireWaiter, publish it where a waker finds it and takes it out, Park, Release. Exactly one waker may take
// it out and Wake it; a waiter whose Park was ended otherwise (timeout, shutdown) takes itself out before it
// releases, under whatever guards the place it was published in.
type Waiter struct {
	co *Coroutine // nil for an ordinary goroutine; constant
	// ticket is the park it is prepared for. Its owner writes it; who took the waiter out as its park ended otherwise may
	// read it late, and so wake a later park early.
	ticket counter.Counter
	sema   chan struct{} // goroutines only, capacity 1
	hook   Hook          // in place of both; constant

	// Link, Prev and Tag are for the place in which it is queued.
	Link, Prev *Waiter
	Tag        uintptr
}

// Hook is told of the wake of a Waiter behind which nobody is parked.
type Hook interface {
	// Woken is called once by whoever took the waiter out, on any thread, a Processor's loop among them. It must not park.
	Woken()
}

// SetHook makes a zero Waiter one that stands for no coroutine or goroutine: Wake calls h. It is not to be parked on.
func (w *Waiter) SetHook(h Hook) { w.hook = h }

// Hook returns what SetHook was given, or nil.
func (w *Waiter) Hook() Hook { return w.hook }

var goroutineWaiters = sync.Pool{New: func() any { return &Waiter{sema: make(chan struct{}, 1)} }}

// AcquireWaiter returns the caller's waiter, prepared for its next Park. A coroutine has one, so it can wait in
// one place at a time; an ordinary goroutine gets one from a pool. It does not allocate for a coroutine.
func AcquireWaiter() *Waiter {
	if w := self(); w != nil {
		if co := w.co.Own(); co != nil {
			co.waiter.ticket.Set(co.ticket)
			return &co.waiter
		}
	}
	return goroutineWaiters.Get().(*Waiter)
}

// Release gives the waiter back after its Park.
func (w *Waiter) Release() {
	w.Link, w.Prev, w.Tag = nil, nil, 0
	if w.co == nil {
		goroutineWaiters.Put(w)
	}
}

// Prepare readies the waiter for another Park of the same caller.
func (w *Waiter) Prepare() {
	if w.co != nil {
		w.ticket.Set(w.co.ticket)
	}
}

// Coroutine returns the coroutine that waits, or nil for an ordinary goroutine.
func (w *Waiter) Coroutine() *Coroutine { return w.co }

// Park blocks the caller, coroutine or goroutine, until Wake. Parks; for a coroutine it may also end by shutdown.
func (w *Waiter) Park(reason Reason) Wake {
	if w.co != nil {
		return w.co.Park(reason)
	}
	<-w.sema
	return WakeReady
}

// ParkUntil is Park with a deadline in nanoseconds of CLOCK_MONOTONIC.
func (w *Waiter) ParkUntil(reason Reason, deadline int64) Wake {
	if w.co != nil {
		return w.co.ex.Own().host.ParkUntil(w.co, reason, deadline)
	}
	t := time.NewTimer(time.Duration(deadline - clock.Now()))
	defer t.Stop()
	select {
	case <-w.sema:
		return WakeReady
	case <-t.C:
		return WakeTimeout
	}
}

// Drain takes back a wake that came after Park had ended otherwise: the caller found that a waker had already taken
// the waiter out.
func (w *Waiter) Drain() {
	if w.co == nil {
		<-w.sema
	}
}

// Wake ends the Park, from any thread, also before it has begun.
func (w *Waiter) Wake() {
	if w.co != nil {
		w.co.Ready(w.ticket.Load(), WakeReady)
		return
	}
	if w.hook != nil {
		w.hook.Woken()
		return
	}
	w.sema <- struct{}{}
}
