package sync

import (
	"fmt"
	"strings"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/explore"
	"github.com/netco-go/netco/internal/waitq"
)

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
