package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/explore"
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
