package context

import (
	"testing"

	"github.com/netco-go/netco/asm"
)

// visit visits the chain that is parked in first, and sees the goroutine of last.
func (x *chains) visit(first, last int) {
	var on uintptr
	x.c[first].Visit(func() { on = asm.Getg() })
	if want := x.c[last].G(); on != want {
		x.t.Errorf("the visit ran on %#x, not on %#x", on, want)
	}
	if x.c[first].Visited() {
		x.t.Error("the visit is still to come")
	}
}

// TestVisit: a visit runs on the visited one's goroutine, once, and leaves everything as it was.
func TestVisit(t *testing.T) {
	onLockedThread(t, func() {
		var c [3]Context
		resumed := [3]int{}
		for i := range c {
			c[i].Init(func(*Context) {
				for range 4 {
					if i > 0 || !Direct() {
						c[i].Suspend()
					} else if c[i].Switch(&c[i]); c[i].Visited() {
						c[i].ServeVisit()
					}
					resumed[i]++
				}
			})
			c[i].Resume(&c[i])
		}
		for round := range 4 {
			for i := range c {
				for range 3 {
					var on []uintptr
					c[i].Visit(func() { on = append(on, asm.Getg()) })
					if len(on) != 1 || on[0] != c[i].G() {
						t.Errorf("the visit ran on %#x, not on %#x", on, c[i].G())
					}
					if resumed[i] != round {
						t.Errorf("a visit has resumed it: %d times, want %d", resumed[i], round)
					}
				}
			}
			for i := range c {
				c[i].Resume(&c[i])
			}
		}
		if resumed != [3]int{4, 4, 4} {
			t.Errorf("resumed %v times", resumed)
		}
	})
}

// TestVisitInner: where another goroutine has parked in a context, that one is visited.
func TestVisitInner(t *testing.T) {
	needDirect(t)
	onLockedThread(t, func() {
		var outer, inner Context
		ran := 0
		inner.Init(func(*Context) {
			for range 3 {
				outer.Suspend()
				ran++
			}
		})
		outer.Init(func(*Context) { inner.Resume(&inner) })
		outer.Resume(&outer)
		for round := range 3 {
			for range 2 {
				var on uintptr
				outer.Visit(func() { on = asm.Getg() })
				if on != inner.G() || ran != round {
					t.Errorf("the visit ran on %#x, not on %#x; resumed %d times, want %d", on, inner.G(), ran, round)
				}
			}
			outer.Resume(&outer)
		}
		if ran != 3 {
			t.Errorf("resumed %d times", ran)
		}
	})
}
