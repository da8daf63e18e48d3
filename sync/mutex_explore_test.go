package sync

import (
	"fmt"
	"slices"
	"strings"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv/explore"
	"github.com/netco-go/netco/internal/waitq"
)

// TestMutexEveryOrder runs threads that lock and unlock a Mutex in every order
// of their shared accesses. A woken waiter may be local or not, starved or not.
// No waiter passes another that queued before it.
func TestMutexEveryOrder(t *testing.T) {
	for _, threads := range []string{"- -", "- - -", "g g", "- g -", "! !", "t t", "c gt", "! t -",
		"t t !", "-2 -2", "-2 t", "try -2", "-2 - -"} {
		t.Run(threads, func(t *testing.T) {
			restoreSeams(t)
			early := 1
			if len(strings.Fields(threads)) > 2 {
				early = 0
			}
			explore.Run(t, func(w *explore.World) explore.Program {
				return mutexProgram(w, threads)
			}, explore.Limits{Early: early})
		})
	}
}

// mutexProgram has a thread for each field: "-" a coroutine, "g" a goroutine,
// "!" stoppable, "t" bounded in time, "c" by a context, "2" locks twice, "try"
// by TryLock.
func mutexProgram(w *explore.World, threads string) explore.Program {
	seams(w)
	x := &mutexModel{w: w}
	p := explore.Program{State: x.appendState, Check: x.check, End: x.end}
	for _, kind := range strings.Fields(threads) {
		p.Threads = append(p.Threads, func(th *explore.Thread) {
			limit, rounds := limitOf(th, kind), 1
			if strings.Contains(kind, "2") {
				rounds = 2
			}
			for range rounds {
				th.Step("lock")
				if lockAs(kind, &x.m, limit) {
					x.hold(th)
					unlock(th, &x.m)
				}
			}
		})
	}
	return p
}

// mutexModel is a Mutex, and what must be true of its users.
type mutexModel struct {
	w      *explore.World
	m      Mutex
	inside int
	queue  []int  // as of the last step
	order  []int  // threads that have queued, in order, and neither locked m nor given up
	failed string // what is wrong
}

// hold is a critical section.
func (mm *mutexModel) hold(th *explore.Thread) {
	if i := slices.Index(mm.order, th.ID()); i > 0 {
		mm.failed = fmt.Sprintf("thread %d has passed %v", th.ID(), mm.order[:i])
	} else if i == 0 {
		mm.order = slices.Clone(mm.order[1:])
	}
	mm.inside++
	th.Step("inside")
	mm.inside--
}

func (mm *mutexModel) check(*explore.Thread) string {
	queue := mm.w.Queue(&mm.m.queue)
	for _, id := range queue {
		if !slices.Contains(mm.order, id) {
			mm.order = append(mm.order, id)
		}
	}
	for _, id := range mm.queue {
		gaveUp := !slices.Contains(queue, id) && !waitq.IsClaimed(mm.w.Thread(id).Waiter())
		if gaveUp {
			mm.order = slices.DeleteFunc(slices.Clone(mm.order),
				func(other int) bool { return other == id })
		}
	}
	mm.queue = queue
	if mm.inside > 1 {
		return "two are inside"
	}
	return mm.failed
}

func (mm *mutexModel) end() string {
	if mm.m.state.Load()&^quick != free || mm.m.waiters.Load() != noWaiters || !mm.m.queue.Empty() {
		return "not as new"
	}
	return ""
}

func (mm *mutexModel) appendState(b []byte) []byte {
	m := &mm.m
	b = append(b, byte(m.state.Load()), byte(m.waiters.Load()), byte(m.barges.Load()),
		byte(m.noted))
	b = append(b, byte(mm.inside), byte(len(mm.order)))
	for _, id := range mm.order {
		b = append(b, byte(id))
	}
	return mm.w.AppendQueue(b, &m.queue)
}

// seams explores all outcomes of what Mutex asks the clock and the waiter.
func seams(w *explore.World) {
	starved = func(int64) bool { return w.Choose(2) == 1 }
	sameThread = func(*coroutine.Waiter) bool { return w.Choose(2) == 1 }
	maxBarges, canSpin, noteFor = 1, false, 0
}

// restoreSeams undoes seams at the end of the test.
func restoreSeams(t *testing.T) {
	wasStarved, wasSame, wasBarges, couldSpin := starved, sameThread, maxBarges, canSpin
	noted := noteFor
	t.Cleanup(func() {
		starved, sameThread, maxBarges, canSpin = wasStarved, wasSame, wasBarges, couldSpin
		noteFor = noted
	})
}

// lockAs locks m in the way of the kind and reports whether it did.
func lockAs(kind string, m *Mutex, limit coroutine.Limit) bool {
	switch {
	case kind == "try":
		return m.TryLock()
	case limit == coroutine.Limit{}:
		m.Lock()
		return true
	}
	return m.TryLock() || m.lockLimit(limit) == coroutine.WakeReady
}

// unlock is Unlock, with a step between its two accesses.
func unlock(th *explore.Thread, m *Mutex) {
	if !m.state.CompareAndSwap(quick|locked, quick) {
		m.unlockSlow()
		return
	}
	th.Step("unlocked")
	if m.waiters.Load()&unlockServes != 0 {
		m.serve()
	}
}

// TestCondEveryOrder runs a Cond in every order of its shared accesses: each
// token comes with one Signal, without L, or all with a Broadcast. None is left
// while a thread waits. With two threads L is a Mutex, with more a simple lock.
func TestCondEveryOrder(t *testing.T) {
	for _, threads := range []string{"w s", "t s", "! s", "g s", "w w b", "t w s", "gt w s",
		"! t s", "t t b", "w s s", "t w s s"} {
		t.Run(threads, func(t *testing.T) {
			restoreSeams(t)
			explore.Run(t, func(w *explore.World) explore.Program {
				return condProgram(w, threads)
			}, explore.Limits{})
		})
	}
}

// steppedMutex is a Mutex with a step before what else is a fast path.
type steppedMutex struct{ Mutex }

func (m *steppedMutex) Lock() {
	waitq.Step("L.Lock")
	m.Mutex.Lock()
}

func (m *steppedMutex) TryLock() bool {
	waitq.Step("L.TryLock")
	return m.Mutex.TryLock()
}

func (m *steppedMutex) Unlock() {
	waitq.Step("L.Unlock")
	if !m.state.CompareAndSwap(locked, free) {
		m.unlockSlow()
		return
	}
	waitq.Step("L unlocked")
	if m.waiters.Load()&unlockServes != 0 {
		m.serve()
	}
}

// simpleLock is 1 while it is held.
type simpleLock int

func (l *simpleLock) Lock() {
	for waitq.Step("L.Lock"); *l != 0; waitq.Step("L.Lock") {
	}
	*l = 1
}

func (l *simpleLock) Unlock() {
	waitq.Step("L.Unlock")
	*l = 0
}

// condProgram has a thread for each field: "s" gives a token and signals, "b"
// gives one for each other thread and broadcasts; the others wait for a token:
// "w", "g" a goroutine, "t" bounded in time, "!" stoppable.
func condProgram(w *explore.World, threads string) explore.Program {
	starved = func(int64) bool { return false }
	sameThread = func(*coroutine.Waiter) bool { return false }
	canSpin = false
	var m steppedMutex
	var s simpleLock
	var l stdsync.Locker = &m
	fields := strings.Fields(threads)
	if len(fields) > 2 {
		l = &s
	}
	c := NewCond(l)
	tokens, inside := 0, 0
	p := explore.Program{
		State: func(b []byte) []byte {
			b = append(b, byte(m.state.Load()), byte(m.waiters.Load()), byte(tokens), byte(inside),
				byte(s))
			if c.hasWaiters.Load() {
				b = append(b, 1)
			}
			return w.AppendQueue(w.AppendQueue(b, &m.queue), &c.queue)
		},
		Check: func(*explore.Thread) string {
			if inside > 1 {
				return "two have L"
			}
			return ""
		},
		End: func() string {
			switch n := len(w.Queue(&c.queue)); {
			case tokens > 0 && n > 0:
				return fmt.Sprintf("%d tokens are left, and %d wait", tokens, n)
			case s != 0 || m.state.Load() != free || !m.queue.Empty() ||
				c.hasWaiters.Load() != (n > 0):
				return "not as new"
			}
			return ""
		},
	}
	for _, kind := range fields {
		p.Threads = append(p.Threads, func(th *explore.Thread) {
			condThread(th, c, kind, len(fields), &tokens, &inside)
		})
	}
	return p
}

// condThread is the thread of a field, of so many.
func condThread(th *explore.Thread, c *Cond, kind string, threads int, tokens, inside *int) {
	th.Stoppable = kind == "!"
	th.Goroutine = strings.Contains(kind, "g")
	th.MayWait = kind != "s" && kind != "b"
	c.L.Lock()
	switch kind {
	case "s":
		*tokens++
		c.L.Unlock()
		th.Step("signal")
		c.Signal()
	case "b":
		*tokens += threads - 1
		c.L.Unlock()
		th.Step("broadcast")
		c.Broadcast()
	default:
		takeToken(th, c, tokens, inside, strings.Contains(kind, "t"))
	}
}

// takeToken waits for a token and takes it. It has L, also when it is unwound,
// and unlocks it.
func takeToken(th *explore.Thread, c *Cond, tokens, inside *int, bounded bool) {
	defer func() {
		*inside++
		th.Step("has L")
		*inside--
		c.L.Unlock()
	}()
	for *tokens == 0 {
		if !bounded {
			c.Wait()
		} else if c.WaitTimeout(time.Hour) != nil {
			return
		}
	}
	*tokens--
}
