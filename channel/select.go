package channel

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Select executes one of the cases and returns the index of that case. It
// chooses among the ready cases at random, with equal chances; if there is none
// it chooses Default, and without a Default it waits. err is nil, or ErrClosed
// if a receive met the end of a closed channel. Select panics if it chooses a
// send on a closed channel. A coroutine parks, a goroutine blocks; without
// cases for ever. At a forced shutdown it does not return.
//
// With up to eight cases Select does not allocate, unless it waits on a channel
// that has more waiters than ever before.
func Select(cases ...Case) (index int, err error) {
	index, err = choose(hidden(cases), coroutine.Limit{})
	if err == coroutine.ErrShutdown {
		waitq.Unwind()
	}
	return index, err
}

// SelectTimeout is Select for at most d. After d it returns -1 and
// os.ErrDeadlineExceeded, and at a forced shutdown -1 and netco's ErrShutdown.
// With index -1 it has executed no case.
func SelectTimeout(d time.Duration, cases ...Case) (index int, err error) {
	return choose(hidden(cases), coroutine.Timeout(d))
}

// SelectContext is Select until ctx is done. Then it returns -1 and the
// context's error, and at a forced shutdown -1 and netco's ErrShutdown. With
// index -1 it has executed no case. It allocates when it waits.
func SelectContext(ctx context.Context, cases ...Case) (index int, err error) {
	return choose(hidden(cases), coroutine.Context(ctx))
}

// randn returns a random number below n. A variable for tests.
var randn = rand.IntN

// fewCases is the number of cases that need no allocation.
const fewCases = 8

// choose is Select within limit.
func choose(cases []Case, limit coroutine.Limit) (int, error) {
	for over := false; ; {
		index, err := chooseOnce(cases, limit)
		if err == nil || over || !mayRetry(cases, index, err) {
			return index, err
		}
		over = limit.Expired() != coroutine.WakeReady // if so, try once more, without a wait
	}
}

// chooseOnce is choose, except that the wait for a channel on which time sends
// may end before that channel has a value: see mayRetry.
func chooseOnce(cases []Case, limit coroutine.Limit) (int, error) {
	var space [fewCases]int32
	order := lockOrder(cases, space[:0])
	otherwise := slices.IndexFunc(cases, func(c Case) bool { return c.kind == kindDefault })

	lockAll(cases, order)
	done := tryCasesLocked(cases, order)
	unlockAll(cases, order)
	switch {
	case done.index >= 0:
		return done.index, done.conclude(cases)
	case otherwise >= 0:
		return otherwise, nil
	}
	if why := limit.Expired(); why != coroutine.WakeReady {
		return -1, limit.Err(why)
	}
	if len(order) == 0 {
		return -1, block(limit)
	}
	return wait(cases, order, limit)
}

// lockOrder returns the indices of the cases that have a channel, in the order
// in which channels are locked.
func lockOrder(cases []Case, order []int32) []int32 {
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
	for k, i := range order {
		if k == 0 || cases[order[k-1]].on != cases[i].on {
			cases[i].on.lock()
		}
	}
}

// unlockAll unlocks the channels and then wakes the claimed waiters.
func unlockAll(cases []Case, order []int32) {
	u := waitq.Begin()
	for k, i := range order {
		if k == 0 || cases[order[k-1]].on != cases[i].on {
			u.Add(cases[i].on.release())
		}
	}
	u.Wake()
}

// outcome is the executed case; the index is -1 if there is none.
type outcome struct {
	index int
	ok    bool // false if the channel was closed
}

// conclude returns the error of Select, or panics. The channels are unlocked.
func (o outcome) conclude(cases []Case) error {
	switch {
	case o.ok:
		return nil
	case cases[o.index].kind == kindSend:
		panic(sendOnClosed)
	}
	return ErrClosed
}

// tryCasesLocked executes one of the ready cases, if there is one. All channels
// are locked.
func tryCasesLocked(cases []Case, order []int32) outcome {
	for {
		ready := 0
		for _, i := range order {
			if cases[i].on.isReadyLocked(cases[i].kind) {
				ready++
			}
		}
		if ready == 0 {
			return outcome{index: -1}
		}
		skip := 0
		if ready > 1 {
			skip = randn(ready)
		}
		for _, i := range order {
			if !cases[i].on.isReadyLocked(cases[i].kind) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if ok, done := cases[i].on.tryLocked(cases[i].kind, cases[i].at); done {
				return outcome{int(i), ok}
			}
			break // the other side's waiters were claimed elsewhere, and are out of the queue
		}
	}
}

// selection is a Select that waits: in the order of locking, a waiter per case.
type selection struct {
	cases   []Case
	order   []int32
	waiters []selectWaiter
}

// Lock locks all channels, Unlock unlocks them.
func (s *selection) Lock()   { lockAll(s.cases, s.order) }
func (s *selection) Unlock() { unlockAll(s.cases, s.order) }

// leaveLocked implements waitq.Leave.
func (s *selection) leaveLocked(w *coroutine.Waiter) {
	s.cancelLocked()
	w.Tag = 0
}

func (s *selection) cancelLocked() {
	for _, x := range s.waiters {
		x.cancelLocked()
	}
}

// wait tries the cases once more, or waits on all channels.
func wait(cases []Case, order []int32, limit coroutine.Limit) (int, error) {
	var space [fewCases]selectWaiter
	s := selection{cases, order, space[:0]}
	w := waitq.Acquire(limit)
	for _, i := range order {
		s.waiters = append(s.waiters, cases[i].on.newSelectWaiter(cases[i].kind, w))
	}
	s.Lock()
	if done := tryCasesLocked(cases, order); done.index >= 0 {
		s.cancelLocked()
		s.Unlock()
		waitq.Release(w)
		return done.index, done.conclude(cases)
	}
	w.Tag = waitq.AnyKind
	for k, i := range order {
		s.waiters[k].queueLocked(cases[i].at)
	}
	limit = untilTick(cases, limit)
	s.Unlock()

	why := waitq.Wait(w, coroutine.ReasonChannel, limit, hiddenLocker(&s), s.leaveLocked)
	if why != coroutine.WakeReady {
		waitq.Release(w)
		return -1, limit.Err(why)
	}
	done := outcome{index: -1}
	for k, i := range order {
		if chosen, ok := s.waiters[k].finish(cases[i].at); chosen {
			done.index, done.ok = int(i), ok
		}
	}
	waitq.Release(w)
	return done.index, done.conclude(cases)
}
