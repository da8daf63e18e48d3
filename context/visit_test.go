package context

import (
	"math/rand/v2"
	"testing"

	"github.com/netco-go/netco/asm"
)

// TestVisit: a visit runs on the visited one's goroutine and leaves everybody where they were.
func TestVisit(t *testing.T) {
	onLockedThread(t, func() {
		var loop Context
		loop.InitLoop()
		var c [3]Context
		resumed := [3]int{}
		for i := range c {
			c[i].Init(func(*Context) {
				for range 4 {
					c[i].Suspend(&loop)
					resumed[i]++
				}
				c[i].Exit(&loop)
			})
			loop.Resume(&c[i])
		}
		for round := range 4 {
			for i := range c {
				for range 3 {
					was := c[i].frame.Slot
					var on uintptr
					loop.Visit(&c[i], func() { on = asm.Getg() })
					if on != c[i].G() {
						t.Errorf("the visit ran on %#x, not on %#x", on, c[i].G())
					}
					if resumed[i] != round {
						t.Errorf("a visit has resumed it: %d times, want %d", resumed[i], round)
					}
					if c[i].frame.Slot != was || c[i].relay != nil {
						t.Error("it is not as it was")
					}
				}
			}
			for i := range c {
				loop.Resume(&c[i])
			}
		}
	})
}

// TestRandomVisits: contexts that transfer among one another, and end, out of each other's slots, are visited in between.
func TestRandomVisits(t *testing.T) {
	if !Symmetric() {
		t.Skip("the portable backend has no Transfer; NETCO_CONTEXT=asm has")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	onLockedThread(t, func() {
		const n = 20
		var loop Context
		var c [n]Context
		var alive []int
		ending := false
		expect, visits, seen := -1, 0, 0
		steps := 20_000
		visitSome := func() {
			for _, i := range alive {
				if c[i].G() != 0 && rnd.IntN(2) == 0 {
					visits++
					loop.Visit(&c[i], func() {
						if asm.Getg() == c[i].G() {
							seen++
						}
					})
				}
			}
		}
		for i := range c {
			alive = append(alive, i)
			c[i].Init(func(*Context) {
				for !ending {
					if expect != i {
						t.Errorf("seed %d: %d runs, %d should", seed, i, expect)
					}
					steps--
					if j := alive[rnd.IntN(n)]; j != i && rnd.IntN(4) > 0 {
						expect = j
						c[i].Transfer(&c[j], &c[j])
					} else {
						expect = -1
						c[i].Suspend(&loop)
					}
				}
				c[i].Exit(&loop)
			})
		}
		for steps > 0 {
			visitSome()
			expect = rnd.IntN(n)
			loop.Resume(&c[expect])
		}
		for ending = true; len(alive) > 0; {
			visitSome()
			k := rnd.IntN(len(alive))
			i := alive[k]
			alive = append(alive[:k], alive[k+1:]...)
			loop.Resume(&c[i])
		}
		if visits == 0 || seen != visits {
			t.Errorf("seed %d: %d visits, %d received", seed, visits, seen)
		}
	})
}
