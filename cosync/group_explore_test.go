package cosync

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/explore"
	"github.com/netco-go/netco/internal/goruntime"
)

// groupProgram has a thread for each field of threads: "f" calls Go with a
// function that fails, "-" with one that does not, and with the letters of
// limitOf; "w" is a Wait.
func groupProgram(limit int, threads string) func(*explore.World) explore.Program {
	return func(w *explore.World) explore.Program {
		var g Group
		g.SetLimit(limit)
		failed := errors.New("failed")
		inside := 0
		p := explore.Program{
			State: func(b []byte) []byte {
				b = append(b, byte(g.active), byte(inside))
				if g.err != nil {
					b = append(b, 'e')
				}
				return w.AppendQueue(w.AppendQueue(b, &g.starts), &g.idle)
			},
			Check: func(*explore.Thread) string {
				starts, idle := w.Queue(&g.starts), w.Queue(&g.idle)
				switch {
				case inside > limit:
					return fmt.Sprintf("%d run, the limit is %d", inside, limit)
				case g.guard.Held():
				case g.active < limit && len(starts) != 0:
					return fmt.Sprintf("%d run and %v wait to start", g.active, starts)
				case g.active == 0 && len(idle) != 0:
					return fmt.Sprintf("none runs and %v wait for that", idle)
				}
				return ""
			},
			End: func() string {
				if g.active != 0 {
					return fmt.Sprintf("%d run", g.active)
				}
				return ""
			},
		}
		for _, kind := range strings.Fields(threads) {
			p.Threads = append(p.Threads, func(th *explore.Thread) {
				limit := limitOf(th, kind)
				th.Step("begin")
				if strings.Contains(kind, "w") {
					err := g.wait(limit)
					unlimited := limit == coroutine.Limit{}
					if err != nil && err != failed && unlimited && !th.Stoppable {
						panic(err)
					}
					return
				}
				g.enter()
				inside++
				th.Step("inside")
				inside--
				if strings.Contains(kind, "f") {
					g.exit(failed)
				} else {
					g.exit(nil)
				}
			})
		}
		return p
	}
}

// TestGroupEveryOrder runs what a Group does around its functions in every
// order of its shared accesses.
func TestGroupEveryOrder(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("one thread at a time, for long")
	}
	for _, c := range []struct {
		limit   int
		threads string
	}{
		{1, "- - -"},
		{1, "- f w"},
		{1, "- !- tw"},
		{1, "g- !- gtw"},
		{2, "- f - w"},
		{1, "- w !w"},
	} {
		t.Run(fmt.Sprintf("%d,%s", c.limit, c.threads), func(t *testing.T) {
			explore.Run(t, groupProgram(c.limit, c.threads), explore.Limits{Early: 1, Moves: true})
		})
	}
}
