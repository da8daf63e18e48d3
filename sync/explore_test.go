package sync

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv/explore"
	"github.com/netco-go/netco/internal/waitq"
)

// futureProgram has a thread for each field of threads: "S" sets its own
// number, and others wait as limitOf says, "-" without a bound.
func futureProgram(threads string) func(*explore.World) explore.Program {
	return func(w *explore.World) explore.Program {
		f := NewFuture[int]()
		won, wins := -1, 0
		p := explore.Program{
			State: func(b []byte) []byte {
				done := byte(0)
				if f.done.Load() {
					done = 1
				}
				return w.AppendQueue(append(b, done, byte(f.value), byte(won), byte(wins)),
					&f.queue)
			},
			Check: func(*explore.Thread) string {
				if queue := w.Queue(&f.queue); f.done.Load() && !f.guard.Held() && len(queue) != 0 {
					return fmt.Sprintf("complete, and queue %v waits", queue)
				}
				return ""
			},
			End: func() string {
				if wins != 1 || f.value != won {
					return fmt.Sprintf("%d has won, of %d; the value is %d", won, wins, f.value)
				}
				return ""
			},
		}
		for i, kind := range strings.Fields(threads) {
			p.Threads = append(p.Threads, func(th *explore.Thread) {
				limit := limitOf(th, kind)
				th.Step("begin")
				if kind == "S" {
					if f.Set(i) {
						won = i
						wins++
					} else if !f.Done() {
						panic("not complete, and Set refused")
					}
					return
				}
				v, err := f.getSlow(limit)
				if err == nil && (!f.Done() || v != f.value) || err != nil && v != 0 {
					panic(fmt.Sprintf("Get: %d, %v of %d", v, err, f.value))
				}
				if err != nil && limit == (coroutine.Limit{}) && err != coroutine.ErrShutdown {
					panic(err)
				}
			})
		}
		return p
	}
}

// TestFutureEveryOrder runs the Future in every order of its shared accesses.
func TestFutureEveryOrder(t *testing.T) {
	for _, threads := range []string{"S S -", "S - -", "S g t", "S gt c", "S !t !", "S S gc",
		"S S t -"} {
		t.Run(threads, func(t *testing.T) {
			explore.Run(t, futureProgram(threads), explore.Limits{Early: 1, Moves: true})
		})
	}
}

// limitOf returns the bound that the letters of a thread's description stand
// for, and sets the other properties: "!" may be ended by force at any time,
// "g" an ordinary goroutine, "t" bounded by a time, "c" by a context.
func limitOf(th *explore.Thread, kind string) coroutine.Limit {
	th.Stoppable = strings.Contains(kind, "!")
	th.Goroutine = strings.Contains(kind, "g")
	switch {
	case strings.Contains(kind, "t"):
		return coroutine.Timeout(time.Hour)
	case strings.Contains(kind, "c"):
		return coroutine.Context(th.Context())
	}
	return coroutine.Limit{}
}

// semaphoreProgram has a thread for each field of threads, which takes as many
// units as its number says, and gives them back. With "y" it only tries; with
// "z" too, and there must be enough for it.
func semaphoreProgram(size int64, threads string) func(*explore.World) explore.Program {
	return func(w *explore.World) explore.Program {
		s := NewSemaphore(size)
		held := int64(0)
		p := explore.Program{
			State: func(b []byte) []byte {
				b = binary.LittleEndian.AppendUint64(b, uint64(s.state.Load()))
				return w.AppendQueue(append(b, byte(held)), &s.queue)
			},
			Check: func(*explore.Thread) string { return checkSemaphore(w, s, held) },
			End: func() string {
				if s.state.Load() != size || held != 0 {
					return "not all units are free"
				}
				return ""
			},
			Describe: func() string {
				return fmt.Sprintf("state %#x, %d held, queue %v", s.state.Load(), held,
					w.Queue(&s.queue))
			},
		}
		for _, kind := range strings.Fields(threads) {
			n, err := strconv.ParseInt(strings.Trim(kind, "!gtcyz"), 10, 64)
			if err != nil {
				panic(err)
			}
			p.Threads = append(p.Threads, func(th *explore.Thread) {
				limit := limitOf(th, kind)
				th.Step("acquire")
				switch {
				case strings.Contains(kind, "y"):
					if !s.TryAcquire(n) {
						return
					}
				case strings.Contains(kind, "z"):
					if err := s.acquireLimit(n, coroutine.Timeout(0)); err != nil {
						panic(err)
					}
				case limit != coroutine.Limit{}:
					if !s.take(n) && s.acquireLimit(n, limit) != nil {
						return
					}
				default:
					s.Acquire(n)
				}
				held += n
				th.Step("inside")
				held -= n
				s.Release(n)
			})
		}
		return p
	}
}

// checkSemaphore returns which invariant is broken: of all states, or of those
// in which the guard is free.
func checkSemaphore(w *explore.World, s *Semaphore, held int64) string {
	state := s.state.Load()
	free := state &^ hasWaiters
	if held < 0 || free+held > s.size {
		return fmt.Sprintf("%d are held and %d free of %d", held, free, s.size)
	}
	queue := w.Queue(&s.queue)
	if s.guard.Held() {
		return ""
	}
	if (state < 0) != (len(queue) != 0) {
		return fmt.Sprintf("state %#x with queue %v", state, queue)
	}
	if front := s.queue.Front(); front != nil && int64(waitq.Kind(front))-1 <= free {
		return fmt.Sprintf("%d are free and queue %v waits for %d", free, queue,
			waitq.Kind(front)-1)
	}
	return ""
}

// TestSemaphoreEveryOrder runs the Semaphore in every order of its shared
// accesses.
func TestSemaphoreEveryOrder(t *testing.T) {
	for _, c := range []struct {
		size    int64
		threads string
	}{
		{1, "1 1 1"},
		{2, "2 1 1"},
		{3, "2 3 1"},
		{2, "2 g1 g2"},
		{2, "1 t2 1"}, // the front gives up
		{2, "1 gt2 g1"},
		{2, "t1 c2 1"},
		{2, "!2 !1 1"},
		{1, "!t1 !1 gc1"},
		{2, "2 y1 t0"},
		{3, "1 y1 z1"},
	} {
		t.Run(fmt.Sprintf("%d,%s", c.size, c.threads), func(t *testing.T) {
			explore.Run(t, semaphoreProgram(c.size, c.threads),
				explore.Limits{Early: 1, Moves: true})
		})
	}
}

// TestWaitGroupEveryOrder runs a WaitGroup in every order of its shared
// accesses: all that wait go on, none before all is done.
func TestWaitGroupEveryOrder(t *testing.T) {
	for _, threads := range []string{"d w", "d d w", "d w w", "d w t", "d t t", "d d ! g",
		"d d gt w", "d r"} {
		t.Run(threads, func(t *testing.T) {
			explore.Run(t, func(w *explore.World) explore.Program {
				return waitGroupProgram(w, threads)
			}, explore.Limits{Early: 1, Moves: true})
		})
	}
}

// waitGroupProgram has a thread for each field: "d" is one of those that are
// waited for; the others wait: "w", "g" a goroutine, "t" bounded in time, "!"
// stoppable, "r" too, and in a second round in which nothing is done in time.
func waitGroupProgram(w *explore.World, threads string) explore.Program {
	var wg WaitGroup
	left := strings.Count(threads, "d")
	wg.Add(left)
	p := explore.Program{
		State: func(b []byte) []byte {
			s := wg.state.Load()
			return w.AppendQueue(append(b, byte(s>>32), byte(s), byte(left)), &wg.queue)
		},
		End: func() string {
			if wg.state.Load() != 0 || !wg.queue.Empty() {
				return "not as new"
			}
			return ""
		},
	}
	for _, kind := range strings.Fields(threads) {
		p.Threads = append(p.Threads, func(th *explore.Thread) {
			th.Stoppable = kind == "!"
			th.Goroutine = strings.Contains(kind, "g")
			th.Step("begin")
			switch {
			case kind == "d":
				left--
				wg.Done()
			case kind == "r":
				if wg.WaitTimeout(time.Hour) == nil && left != 0 {
					panic("has not waited")
				}
				if left != 0 {
					return
				}
				left++ // the one that was waited for may still be in Done
				wg.Add(1)
				th.Step("the second round")
				if wg.WaitTimeout(time.Hour) == nil {
					panic("has not waited for the second round")
				}
				left--
				wg.Done()
			case strings.Contains(kind, "t"):
				if wg.WaitTimeout(time.Hour) == nil && left != 0 {
					panic("has not waited")
				}
			default:
				if wg.Wait(); left != 0 {
					panic("has not waited")
				}
			}
		})
	}
	return p
}
