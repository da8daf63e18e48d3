package context

import (
	"testing"

	"github.com/netco-go/netco/asm"
)

// runOn runs a function on the chain that is parked in first, and checks that
// it runs on the goroutine of last.
func (c *chains) runOn(first, last int) {
	var on uintptr
	c.c[first].RunOn(func() { on = asm.Getg() })
	if want := c.c[last].G(); on != want {
		c.t.Errorf("the function ran on %#x, not on %#x", on, want)
	}
	if c.c[first].HasCall() {
		c.t.Error("the call is still pending")
	}
}

// TestRunOn: the function runs on the parked goroutine, once, and leaves
// everything as it was.
func TestRunOn(t *testing.T) {
	onLockedThread(t, func() {
		var c [3]Context
		resumed := [3]int{}
		for i := range c {
			c[i].Init(func(*Context) {
				for range 4 {
					if i > 0 || !Direct() {
						c[i].Suspend()
					} else if c[i].Switch(&c[i]); c[i].HasCall() {
						c[i].ServeCalls()
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
					c[i].RunOn(func() { on = append(on, asm.Getg()) })
					if len(on) != 1 || on[0] != c[i].G() {
						t.Errorf("the function ran on %#x, not on %#x", on, c[i].G())
					}
					if resumed[i] != round {
						t.Errorf("RunOn has resumed it: %d times, want %d", resumed[i], round)
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

// TestRunOnInner: where another goroutine has parked in a context, the function
// runs on that one.
func TestRunOnInner(t *testing.T) {
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
				outer.RunOn(func() { on = asm.Getg() })
				if on != inner.G() || ran != round {
					t.Errorf("the function ran on %#x, not on %#x; resumed %d times, want %d", on,
						inner.G(), ran, round)
				}
			}
			outer.Resume(&outer)
		}
		if ran != 3 {
			t.Errorf("resumed %d times", ran)
		}
	})
}
