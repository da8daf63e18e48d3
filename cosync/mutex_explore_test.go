package cosync

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/explore"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/waitq"
)

// TestMutexEveryOrder runs threads that lock and unlock a Mutex in every order
// of their shared accesses. A woken waiter may be local or not, starved or not.
// No waiter passes another that queued before it.
func TestMutexEveryOrder(t *testing.T) {
	for _, threads := range []string{"- -", "- - -", "g g", "- g -", "! !", "t t", "c gt", "! t -", "t t !", "-2 -2", "-2 t", "try -2", "-2 - -"} {
		t.Run(threads, func(t *testing.T) {
			restoreSeams(t)
			if threads == "-2 - -" || threads == "t t !" || threads == "! t -" {
				testenv.Long(t)
			}
			early := 1
			if len(strings.Fields(threads)) > 2 {
				early = 0
			}
			explore.Run(t, func(w *explore.World) explore.Program { return mutexProgram(w, threads) }, explore.Limits{Early: early})
		})
	}
}

// mutexProgram has a thread for each field: "-" a coroutine, "g" a goroutine,
// "!" doomed, "t" bounded in time, "c" by a context, "2" locks twice, "try" by
// TryLock.
func mutexProgram(w *explore.World, threads string) explore.Program {
	seams(w)
	var m Mutex
	inside := 0
	passed := ""
	var queue []int
	var came []int // threads that have queued, in order, and neither locked m nor given up
	p := explore.Program{
		State: func(b []byte) []byte {
			b = append(b, byte(m.state.Load()), byte(m.waiters.Load()), byte(m.barges.Load()), byte(inside), byte(len(came)))
			for _, id := range came {
				b = append(b, byte(id))
			}
			return w.AppendQueue(b, &m.queue)
		},
		Check: func(*explore.Thread) string {
			now := w.Queue(&m.queue)
			for _, id := range now {
				if !slices.Contains(came, id) {
					came = append(came, id)
				}
			}
			for _, id := range queue {
				if !slices.Contains(now, id) && !waitq.IsClaimed(w.Thread(id).Waiter()) { // it has given up
					came = slices.DeleteFunc(slices.Clone(came), func(other int) bool { return other == id })
				}
			}
			queue = now
			if inside > 1 {
				return "two are inside"
			}
			return passed
		},
		End: func() string {
			if m.state.Load() != free || m.waiters.Load() != noWaiters || !m.queue.Empty() {
				return "not as new"
			}
			return ""
		},
	}
	for _, kind := range strings.Fields(threads) {
		p.Threads = append(p.Threads, func(th *explore.Thread) {
			th.Doomed = strings.Contains(kind, "!")
			th.Goroutine = strings.Contains(kind, "g")
			rounds := 1
			if strings.Contains(kind, "2") {
				rounds = 2
			}
			for range rounds {
				th.Step("lock")
				got := lockAs(kind, &m, th)
				if !got {
					continue
				}
				if place := slices.Index(came, th.ID()); place > 0 {
					passed = fmt.Sprintf("thread %d has passed %v", th.ID(), came[:place])
				} else if place == 0 {
					came = slices.Clone(came[1:])
				}
				inside++
				th.Step("inside")
				inside--
				unlock(th, &m)
			}
		})
	}
	return p
}

// seams explores all outcomes of what Mutex asks the clock and the waiter.
func seams(w *explore.World) {
	starved = func(int64) bool { return w.Choose(2) == 1 }
	sameThread = func(*coroutine.Waiter) bool { return w.Choose(2) == 1 }
	maxBarges, canSpin = 1, false
}

// restoreSeams undoes seams at the end of the test.
func restoreSeams(t *testing.T) {
	wasStarved, wasSame, wasBarges, couldSpin := starved, sameThread, maxBarges, canSpin
	t.Cleanup(func() { starved, sameThread, maxBarges, canSpin = wasStarved, wasSame, wasBarges, couldSpin })
}

// lockAs locks m in the way of the kind and reports whether it did.
func lockAs(kind string, m *Mutex, th *explore.Thread) bool {
	var b coroutine.Bound
	switch {
	case strings.Contains(kind, "try"):
		return m.TryLock()
	case strings.Contains(kind, "t"):
		b = coroutine.Within(time.Hour)
	case strings.Contains(kind, "c"):
		b = coroutine.During(th.Context())
	default:
		m.Lock()
		return true
	}
	return m.TryLock() || m.lockBound(b) == coroutine.WakeReady
}

// unlock is Unlock, with a step between its two accesses.
func unlock(th *explore.Thread, m *Mutex) {
	if !m.state.CompareAndSwap(locked, free) {
		m.unlockSlow()
		return
	}
	th.Step("unlocked")
	if m.waiters.Load()&unlockServes != 0 {
		m.serve()
	}
}
