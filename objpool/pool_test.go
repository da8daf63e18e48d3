package objpool

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/testenv"
)

type thing struct {
	id int
	_  *[256]byte // so that it is no tiny object
}

func TestMisuse(t *testing.T) {
	testenv.Panics(t, "objpool: chunk of 0", func() { New[thing](0, 1) })
	if !invariant.Enabled {
		t.Skip("the check is not part of this build")
	}
	p := New[thing](1, 10)
	x, y := p.Get(), p.Get()
	p.Put(x)
	p.Put(y)
	testenv.Panics(t, "objpool: double Put of *objpool.thing", func() { p.Put(x) })
	p.Get()
	p.Get()
	p.Put(x) // free, in use and free again is no double Put
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the double-put check keeps a map")
	}
	p := New[thing](8, 100)
	held := make([]*thing, 100)
	round := func() {
		for i := range held {
			held[i] = p.Get()
		}
		for _, x := range held {
			p.Put(x)
		}
	}
	round()
	testenv.Equal(t, testing.AllocsPerRun(100, round), 0,
		"allocations per round of 100 Gets and Puts")
	chunks := New[thing](50, 0)
	n := testing.AllocsPerRun(20, func() {
		for range 100 {
			chunks.Get()
		}
	})
	testenv.True(t, n == 2, "%v allocations for 100 objects in chunks of 50, want 2", n)
}

// TestAgainstModel runs random calls against a plain list of free objects: that
// put last comes first, and keep bounds what is free.
func TestAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for round := range 40 {
		most := max(r.IntN(60)-5, 0)
		p := New[thing](1+r.IntN(20), most)
		var used, free []*thing
		for op := range 2000 {
			if r.IntN(2) == 0 {
				x := p.Get()
				if n := len(free); n > 0 {
					testenv.True(t, x == free[n-1], "round %d op %d: not the one put last", round,
						op)
					free = free[:n-1]
				} else if *x != (thing{}) {
					t.Fatalf("round %d op %d: new object is %+v", round, op, *x)
				}
				if slices.Contains(used, x) {
					t.Fatalf("round %d op %d: Get returned an object in use", round, op)
				}
				x.id = op + 1
				used = append(used, x)
			} else if len(used) > 0 {
				i := r.IntN(len(used))
				x := used[i]
				used = slices.Delete(used, i, i+1)
				if p.Put(x); len(free) < most {
					free = append(free, x)
				}
			}
			testenv.True(t, slices.Equal(p.free, free), "round %d op %d: other objects are free",
				round, op)
			for _, x := range p.free[len(p.free):cap(p.free)] {
				if x != nil {
					t.Fatalf("round %d op %d: a popped slot still holds an object", round, op)
				}
			}
		}
	}
}

// watch counts the collections of what the returned add is called with.
func watch() (add func(*thing), wait func(t *testing.T, n int)) {
	gone := make(chan struct{}, 1000)
	add = func(x *thing) {
		runtime.AddCleanup(x, func(int) { gone <- struct{}{} }, 0)
	}
	wait = func(t *testing.T, n int) {
		t.Helper()
		limit := time.After(10 * time.Second)
		for i := 0; i < n; {
			runtime.GC()
			select {
			case <-gone:
				i++
			case <-time.After(5 * time.Millisecond): // the next GC
			case <-limit:
				t.Fatalf("%d of %d objects were collected", i, n)
			}
		}
	}
	return add, wait
}

func TestMemoryIsReleased(t *testing.T) {
	for _, tt := range []struct {
		name        string
		chunk, keep int
		gets        int // again afterwards
		want        int // of 8 objects
	}{
		{"dropped by Put", 1, 0, 0, 8},
		{"above keep", 1, 3, 0, 5},
		{"popped", 1, 8, 2, 2},
		// A chunk goes when its last object does; only its first object carries
		// a cleanup here.
		{"whole chunks", 4, 0, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New[thing](tt.chunk, tt.keep)
			add, wait := watch()
			func() {
				var held [8]*thing
				for i := range held {
					held[i] = p.Get()
					if i%tt.chunk == 0 {
						add(held[i])
					}
				}
				for _, x := range held {
					p.Put(x)
				}
			}()
			for range tt.gets {
				p.Get()
			}
			wait(t, tt.want)
			runtime.KeepAlive(p)
		})
	}
}
