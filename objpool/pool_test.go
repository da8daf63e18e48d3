package objpool

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

type thing struct {
	id int
	_  *[256]byte // so that it is no tiny object
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		chunk, cap         int
		wantChunk, wantCap int
	}{
		{0, 0, 16, 1024},
		{5, 7, 5, 7},
		{1, 1, 1, 1},
		{0, -1, 1, 0},
		{4, -100, 4, 0},
	} {
		o := Options{Chunk: tt.chunk, Cap: tt.cap}.withDefaults()
		testenv.True(t, o.Chunk == tt.wantChunk && o.Cap == tt.wantCap,
			"Chunk %d, Cap %d became %d, %d, want %d, %d", tt.chunk, tt.cap, o.Chunk, o.Cap,
			tt.wantChunk, tt.wantCap)
	}
	testenv.Panics(t, "objpool: Options.Chunk is -1", func() { New[thing](Options{Chunk: -1}) })
}

func TestMisuse(t *testing.T) {
	testenv.Panics(t, "objpool: Put(nil)", func() { New[thing](Options{}).Put(nil) })
	testenv.Panics(t, "objpool: Get on a Pool not made by New", func() { new(Pool[thing]).Get() })
}

func TestDoublePut(t *testing.T) {
	if !checkDoublePut {
		t.Skip("the check is not part of this build")
	}
	p := New[thing](Options{})
	x, y := p.Get(), p.Get()
	p.Put(x)
	p.Put(y)
	testenv.Panics(t, "objpool: double Put of *objpool.thing", func() { p.Put(x) })
	p.Get()
	p.Get()
	p.Put(x) // free, in use and free again is no double Put

	z := New[struct{}](Options{})
	a, b := z.Get(), z.Get()
	z.Put(a)
	z.Put(b) // zero-size objects share an address
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if checkDoublePut {
		t.Skip("the double-put check keeps a map")
	}
	p := New[thing](Options{Chunk: 8, Cap: 100})
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
	chunks := New[thing](Options{Chunk: 50, Cap: -1})
	n := testing.AllocsPerRun(20, func() {
		for range 100 {
			chunks.Get()
		}
	})
	testenv.True(t, n == 2, "%v allocations for 100 objects in chunks of 50, want 2", n)
}

// TestAgainstModel runs random calls against a plain list of free objects: that
// put last comes first, and Cap bounds what is free.
func TestAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for round := range 40 {
		opts := Options{Chunk: r.IntN(20), Cap: r.IntN(60) - 5}
		p, most := New[thing](opts), opts.withDefaults().Cap
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
		name string
		opts Options
		gets int // again afterwards
		want int // of 8 objects
	}{
		{"dropped by Put", Options{Chunk: 1, Cap: -1}, 0, 8},
		{"above Cap", Options{Chunk: 1, Cap: 3}, 0, 5},
		{"popped", Options{Chunk: 1, Cap: 8}, 2, 2},
		// A chunk goes when its last object does; only its first object carries
		// a cleanup here.
		{"whole chunks", Options{Chunk: 4, Cap: -1}, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New[thing](tt.opts)
			add, wait := watch()
			func() {
				var held [8]*thing
				for i := range held {
					held[i] = p.Get()
					if i%tt.opts.Chunk == 0 {
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
