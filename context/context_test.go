package context

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func onLockedThread(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
	<-done
}

func needDirect(t testing.TB) {
	t.Helper()
	if !Direct() {
		t.Skip("with the portable backend only a context's own goroutine suspends it; " +
			"NETCO_CONTEXT=asm has more")
	}
}

// TestOrder: a context runs between the call of Resume and its return, and not
// before the first Resume.
func TestOrder(t *testing.T) {
	onLockedThread(t, func() {
		var got []int
		var c Context
		c.Init(func(is *Context) {
			if is != &c {
				t.Error("the entry function got another context")
			}
			got = append(got, 2)
			c.Suspend()
			got = append(got, 4)
			c.Suspend()
			got = append(got, 6)
		})
		for i := 1; i <= 5; i += 2 {
			got = append(got, i)
			c.Resume(&c)
		}
		if got = append(got, 7); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("ran %v", got)
		}
	})
}

// TestEnds: a context ends by return or by Goexit, at once or after some
// suspends. Its deferred calls run, then its resumer runs on, and nothing else.
func TestEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, locked := range []bool{false, true} {
		for _, goexit := range []bool{false, true} {
			for suspends := range 3 {
				survived := false
				run := func() {
					deferred := false
					var other, c Context
					other.Init(func(*Context) { other.Suspend() })
					c.Init(func(*Context) {
						defer func() { deferred = true }()
						for range suspends {
							down(20, c.Suspend)
						}
						if goexit {
							runtime.Goexit()
						}
					})
					other.Resume(&c)
					for i := range suspends + 1 {
						if deferred {
							t.Errorf("ended after %d of %d", i, suspends+1)
						}
						c.Resume(&other)
					}
					other.Resume(&other)
					survived = deferred
				}
				if locked {
					onLockedThread(t, run)
				} else {
					done := make(chan struct{})
					go func() { defer close(done); run() }()
					<-done
				}
				if !survived {
					t.Errorf("locked %v, Goexit %v, %d suspends: the resumer ended too", locked,
						goexit, suspends)
				}
			}
		}
	}
	testenv.Settle(t, before)
}

// chains drives contexts that resume one another, and checks at every switch
// which context runs. A chain is a list of contexts, each resumed by the
// context before it. The goroutine of the last context runs, or is parked.
//
// running is the chain that runs, from the driver, -1, on. parked has the other
// chains by their first context.
type chains struct {
	t       *testing.T
	rnd     *rand.Rand
	c       []Context
	running []int
	parked  map[int][]int
	steps   int
}

func (c *chains) check(i int) {
	if last := c.running[len(c.running)-1]; last != i {
		c.t.Errorf("context %d runs, want %d", i, last)
		runtime.Goexit()
	}
}

// resumeSome lets i resume a parked context, and returns when i runs again.
func (c *chains) resumeSome(i int) {
	firsts := make([]int, 0, len(c.parked))
	for first := range c.parked {
		firsts = append(firsts, first)
	}
	slices.Sort(firsts) // a map has no order that the seed repeats
	if len(firsts) == 0 {
		return
	}
	first := firsts[c.rnd.IntN(len(firsts))]
	c.running = append(c.running, c.parked[first]...)
	delete(c.parked, first)
	c.c[first].Resume(&c.c[firsts[0]])
	c.check(i)
}

// suspendSome lets i suspend a context of the running chain: itself, with the
// portable backend.
func (c *chains) suspendSome(i int) {
	k := len(c.running) - 1
	if Direct() {
		k = 1 + c.rnd.IntN(k)
	}
	first := c.running[k]
	c.parked[first] = slices.Clone(c.running[k:])
	c.running = c.running[:k]
	c.c[first].Suspend()
	c.check(i)
}

func (c *chains) entry(i int) {
	c.check(i)
	for c.steps > 0 {
		if c.steps--; c.rnd.IntN(2) == 0 && len(c.running) < 8 {
			c.resumeSome(i)
		} else {
			c.suspendSome(i)
		}
	}
	c.running = c.running[:len(c.running)-1]
}

// TestRandomChains resumes contexts at random from within other contexts, and
// suspends any context of the running chain, together with the contexts that it
// has resumed. At last all end.
func TestRandomChains(t *testing.T) {
	seed := testenv.Seed(t)
	before := runtime.NumGoroutine()
	onLockedThread(t, func() {
		const n = 50
		x := &chains{
			t: t, rnd: rand.New(rand.NewPCG(seed, 1)), c: make([]Context, n),
			running: []int{-1}, parked: map[int][]int{}, steps: testenv.Rounds(200_000),
		}
		for i := range x.c {
			x.parked[i] = []int{i}
			x.c[i].Init(func(*Context) { x.entry(i) })
		}
		for len(x.parked) > 0 && !t.Failed() {
			x.resumeSome(-1)
		}
	})
	testenv.Settle(t, before)
}

// TestAllocs: a switch does not allocate.
func TestAllocs(t *testing.T) {
	onLockedThread(t, func() {
		var c Context
		stop := false
		c.Init(func(*Context) {
			for !stop {
				c.Suspend()
			}
		})
		c.Resume(&c)
		n := testing.AllocsPerRun(100, func() { c.Resume(&c) })
		testenv.Equal(t, n, 0, "allocations")
		stop = true
		c.Resume(&c)
	})
}

// BenchmarkSwitch is a Resume and a Suspend, without a call between the switch
// and its user on either side.
func BenchmarkSwitch(b *testing.B) {
	needDirect(b)
	onLockedThread(b, func() {
		var c Context
		stop := false
		c.Init(func(*Context) {
			for !stop {
				c.Switch(&c)
			}
		})
		for b.Loop() {
			c.Switch(&c)
		}
		stop = true
		c.Resume(&c)
	})
}
