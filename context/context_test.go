package context

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
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

func waitGoroutines(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(
		time.Millisecond) {
		if runtime.NumGoroutine() <= want {
			return
		}
	}
	t.Fatalf("%d goroutines left, want %d", runtime.NumGoroutine(), want)
}

func needDirect(t testing.TB) {
	t.Helper()
	if !Direct() {
		t.Skip("with the portable backend only a context's own goroutine suspends it; " +
			"NETCO_CONTEXT=asm has more")
	}
}

// TestOrder: what a context does runs between the Resume and its return, and
// nothing runs before the first.
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

// TestEnds: a context ends by return or by Goexit, at once or after a while,
// and its resumer alone runs on, having seen its deferred calls.
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
	waitGoroutines(t, before)
}

// chains drives contexts that resume one another and checks at every switch
// what runs. A chain is a context and those that run inside of it, each resumed
// by the one before; the last one's goroutine is that which runs or is parked.
//
// running is the chain that runs, from the driver, -1, on; parked are the
// others, each by its first.
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
		c.t.Errorf("%d runs, %d should", i, last)
		runtime.Goexit()
	}
}

// resumeSome lets i resume a parked context, and returns when i runs again.
func (c *chains) resumeSome(i int) {
	firsts := make([]int, 0, len(c.parked))
	for first := range c.parked {
		firsts = append(firsts, first)
	}
	slices.Sort(firsts) // the order of a map is not the seed's
	if len(firsts) == 0 {
		return
	}
	first := firsts[c.rnd.IntN(len(firsts))]
	c.running = append(c.running, c.parked[first]...)
	delete(c.parked, first)
	c.c[first].Resume(&c.c[firsts[0]])
	c.check(i)
}

// suspendSome lets i suspend one of those that run: with the portable backend
// itself.
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

// TestRandomChains walks at random among many contexts that resume one another,
// and suspends any of those that run, with what it has resumed; at last all
// end.
func TestRandomChains(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	before := runtime.NumGoroutine()
	onLockedThread(t, func() {
		const n = 50
		x := &chains{
			t: t, rnd: rand.New(rand.NewPCG(seed, 1)), c: make([]Context, n),
			running: []int{-1}, parked: map[int][]int{}, steps: Rounds(200_000),
		}
		for i := range x.c {
			x.parked[i] = []int{i}
			x.c[i].Init(func(*Context) { x.entry(i) })
		}
		for len(x.parked) > 0 && !t.Failed() {
			x.resumeSome(-1)
		}
	})
	waitGoroutines(t, before)
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
		if n := testing.AllocsPerRun(100, func() { c.Resume(&c) }); n != 0 {
			t.Errorf("Resume and Suspend: %v allocations", n)
		}
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
