package sync

import (
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/explore"
)

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
