package context

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// walked is heap data to which only a context's stack points.
type walked struct {
	next *walked
	tag  [6]int
}

func walk(i, n int) *walked {
	var w *walked
	for k := range n {
		w = &walked{next: w, tag: [6]int{i, k, ^i, ^k, i ^ k, i + k}}
	}
	return w
}

func (w *walked) ok(i, n int) bool {
	for ; w != nil; w = w.next {
		n--
		if w.tag != [6]int{i, n, ^i, ^n, i ^ n, i + n} {
			return false
		}
	}
	return n == 0
}

// down calls f from so many levels further down the stack, which must grow, or
// has more frames to move.
//
//go:noinline
func down(levels int, f func()) int {
	var frame [64]int
	frame[levels%64] = levels
	if levels == 0 {
		f()
		return 0
	}
	return down(levels-1, f) + frame[levels%64] - levels
}

// TestContextTorture resumes and suspends contexts, with deep stacks and
// shallow ones, and ends them in random order by return or by Goexit. Meanwhile
// the collector runs all the time, and profiles and traces are taken.
func TestContextTorture(t *testing.T) {
	before := runtime.NumGoroutine()
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	end := disturb()
	seed := testenv.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 2))
	lives := testenv.Rounds(15_000)
	onLockedThread(t, func() {
		const n = 20
		var alive []*Context
		begun, ended := 0, 0
		for ended < lives {
			for len(alive) < n && begun < lives {
				c := new(Context)
				i, rounds, goexit := begun, rnd.IntN(30), begun%3 == 0
				done := false
				begun++
				c.Init(func(*Context) {
					defer func() {
						done = true
						ended++
					}()
					mine := walk(i, 6)
					for r := range rounds {
						held := walk(r, 3)
						if r%8 == 7 {
							down(100, c.Suspend)
						} else {
							c.Suspend()
						}
						if !mine.ok(i, 6) || !held.ok(r, 3) {
							t.Errorf("the data of a context is damaged")
						}
						mine = walk(i, 6)
					}
					if goexit {
						runtime.Goexit()
					}
				})
				c.Resume(c)
				if !done {
					alive = append(alive, c)
				}
			}
			if len(alive) == 0 {
				continue
			}
			k := rnd.IntN(len(alive))
			was := ended
			alive[k].Resume(alive[rnd.IntN(len(alive))])
			if ended > was {
				alive[k] = alive[len(alive)-1]
				alive = alive[:len(alive)-1]
			}
		}
	})
	end()
	testenv.Settle(t, before)
}

// TestIdentity: G returns the goroutine that a context runs on, and 0 before
// the context runs; for a loop's context, the goroutine that called Identify.
func TestIdentity(t *testing.T) {
	onLockedThread(t, func() {
		var loop, c Context
		loop.Identify()
		var inside, got uintptr
		c.Init(func(*Context) {
			inside, got = c.G(), asm.Getg()
			c.Suspend()
		})
		if c.G() != 0 {
			t.Error("a context has a goroutine before it has run")
		}
		c.Resume(&loop)
		if inside == 0 || inside != got || inside != c.G() || inside == loop.G() ||
			loop.G() != asm.Getg() {
			t.Errorf("identity %#x inside, %#x outside, the loop's is %#x", inside, c.G(), loop.G())
		}
		c.Resume(&c)
		if c.G() != inside {
			t.Error("the goroutine of a context has changed")
		}
	})
}
