package sync

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/explore"
	"github.com/netco-go/netco/internal/waitq"
)

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
