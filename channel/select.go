package channel

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Select does one of the cases, and returns its index: of those that are ready one at random, each with the same chance; if none
// is, that of Default; without a Default it waits. err is nil, or ErrClosed if the case is a receive that met the end of a closed channel. It
// panics if the case is a send and the channel is closed. Parks a coroutine, blocks a goroutine; without cases for ever. When
// the scheduler ends by force it does not return.
//
// It does not allocate for up to eight cases, unless it waits in a channel in which more wait than ever before.
func Select(cases ...Case) (index int, err error) {
	index, err = choose(hidden(cases), coroutine.Bound{}, false)
	if err == coroutine.ErrShutdown {
		waitq.Unwind()
	}
	return index, err
}

// SelectTimeout is Select for no longer than d: after that it returns -1 and os.ErrDeadlineExceeded, and at a forced end of the scheduler
// -1 and netco's ErrShutdown. Then no case has been done.
func SelectTimeout(d time.Duration, cases ...Case) (index int, err error) {
	return choose(hidden(cases), coroutine.Within(d), true)
}

// SelectContext is Select for no longer than ctx lives: after that it returns -1 and the context's error, and at a forced end of the
// scheduler -1 and netco's ErrShutdown. Then no case has been done. It allocates when it waits.
func SelectContext(ctx context.Context, cases ...Case) (index int, err error) {
	return choose(hidden(cases), coroutine.During(ctx), true)
}

// die returns a number below n, each with the same chance.
var die = rand.IntN

// fewCases is for how many cases there is room on the stack.
const fewCases = 8

// choose is Select within b.
func choose(cases []Case, b coroutine.Bound, bounded bool) (int, error) {
	for over := false; ; {
		index, err := chooseOnce(cases, b, bounded)
		if err == nil || over || !ticked(cases, index, err) {
			return index, err
		}
		over = b.Over() != coroutine.WakeReady // then a last look, which does not wait
	}
}

// chooseOnce is choose, but for what it does not know of channels on which time sends: see ticked.
func chooseOnce(cases []Case, b coroutine.Bound, bounded bool) (int, error) {
	var room [fewCases]int32
	order := inOrder(cases, room[:0])
	otherwise := slices.IndexFunc(cases, func(c Case) bool { return c.kind == kindDefault })

	lockAll(cases, order)
	done := tryCases(cases, order)
	unlockAll(cases, order)
	switch {
	case done.index >= 0:
		return done.index, done.conclude(cases)
	case otherwise >= 0:
		return otherwise, nil
	}
	if bounded {
		if why := b.Over(); why != coroutine.WakeReady {
			return -1, b.Err(why)
		}
	}
	if len(order) == 0 {
		return -1, forever(b)
	}
	return wait(cases, order, b)
}

// inOrder returns the indices of the cases that have a channel, in the order in which guards are taken.
func inOrder(cases []Case, order []int32) []int32 {
	for i := range cases {
		if cases[i].on == nil {
			continue
		}
		order = append(order, int32(i))
		at := cases[i].on.order()
		for k := len(order) - 1; k > 0 && cases[order[k-1]].on.order() > at; k-- {
			order[k], order[k-1] = order[k-1], order[k]
		}
	}
	return order
}

func lockAll(cases []Case, order []int32) {
	if len(order) > 1 {
		coroutine.Rejoin() // not under one of the guards: see package inside
	}
	for k, i := range order {
		if k == 0 || cases[order[k-1]].on != cases[i].on {
			cases[i].on.lock()
		}
	}
}

func unlockAll(cases []Case, order []int32) {
	for k, i := range order {
		if k == 0 || cases[order[k-1]].on != cases[i].on {
			cases[i].on.unlock()
		}
	}
}

// outcome is the case that was done; its index is -1 if none was.
type outcome struct {
	index int
	ok    bool              // false if it met a closed channel
	to    *coroutine.Waiter // to be woken
}

// conclude does what is left without the guards, and returns what Select does.
func (o outcome) conclude(cases []Case) error {
	if o.to != nil {
		wake(o.to)
	}
	switch {
	case o.ok:
		return nil
	case cases[o.index].kind == kindSend:
		panic(sendOnClosed)
	}
	return ErrClosed
}

// tryCases does one of the ready cases, if there is any. Under all guards.
func tryCases(cases []Case, order []int32) outcome {
	for {
		ready := 0
		for _, i := range order {
			if cases[i].on.readyLocked(cases[i].kind) {
				ready++
			}
		}
		if ready == 0 {
			return outcome{index: -1}
		}
		skip := 0
		if ready > 1 {
			skip = die(ready)
		}
		for _, i := range order {
			if !cases[i].on.readyLocked(cases[i].kind) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if to, ok, done := cases[i].on.tryLocked(cases[i].kind, cases[i].at); done {
				return outcome{int(i), ok, to}
			}
			break // those who waited there were claimed elsewhere, and are out of the queue now
		}
	}
}

// wait looks once more, and waits in all channels at once.
func wait(cases []Case, order []int32, b coroutine.Bound) (int, error) {
	var room [fewCases]seat
	seats := room[:0]
	w := waitq.Acquire()
	for _, i := range order {
		s := cases[i].on.newSeat()
		s.fill(w)
		seats = append(seats, s)
	}
	lockAll(cases, order)
	if done := tryCases(cases, order); done.index >= 0 {
		for _, s := range seats {
			s.leaveLocked()
		}
		unlockAll(cases, order)
		waitq.Release(w)
		return done.index, done.conclude(cases)
	}
	w.Tag = waiting
	for k, i := range order {
		cases[i].on.queueLocked(cases[i].kind, cases[i].at, seats[k])
	}
	b = soonest(cases, b)
	unlockAll(cases, order)

	why := awaitAny(w, b)
	if why == coroutine.WakeReady {
		awaitLoose(w)
	}
	done := outcome{index: -1}
	for k, i := range order {
		if chosen, ok := seats[k].leave(cases[i].at); chosen {
			done.index, done.ok = int(i), ok
		}
	}
	w.Tag = 0
	waitq.Release(w)
	if why != coroutine.WakeReady {
		return -1, b.Err(why)
	}
	return done.index, done.conclude(cases)
}

// awaitAny parks until w has been claimed (WakeReady) or b is over (the other wakes): then nobody can claim it any more.
func awaitAny(w *coroutine.Waiter, b coroutine.Bound) coroutine.Wake {
	for {
		why := waitq.Park(w, coroutine.ReasonChannel, b)
		if why == coroutine.WakeReady {
			if !isWaiting(w) {
				return why
			}
			waitq.Prepare(w)
			// A locked instruction, so that who claims w after this sees what Prepare wrote, and wakes the next park.
			if !changeTag(w, waiting) {
				return why
			}
			continue
		}
		if changeTag(w, left) {
			return why
		}
		waitq.Drain(w)
		return coroutine.WakeReady
	}
}

// changeTag sets the tag unless w has been claimed.
func changeTag(w *coroutine.Waiter, to uintptr) bool {
	waitq.Step(opClaim)
	return atomic.CompareAndSwapUintptr(&w.Tag, waiting, to)
}
