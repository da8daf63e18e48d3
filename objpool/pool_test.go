package objpool

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

type thing struct {
	id      int
	payload *[256]byte
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
		o := Options[thing]{Chunk: tt.chunk, Cap: tt.cap}.withDefaults()
		testenv.True(t, o.Chunk == tt.wantChunk && o.Cap == tt.wantCap,
			"Chunk %d, Cap %d became %d, %d, want %d, %d", tt.chunk, tt.cap, o.Chunk, o.Cap,
			tt.wantChunk, tt.wantCap)
	}
	testenv.Panics(t, "objpool: Options.Chunk is -1", func() { New(Options[thing]{Chunk: -1}) })
}

func TestMisuse(t *testing.T) {
	testenv.Panics(t, "objpool: Put(nil)", func() { New(Options[thing]{}).Put(nil) })
	testenv.Panics(t, "objpool: Get on a Pool not made by New", func() { new(Pool[thing]).Get() })
}

// A Reset that panics, or that puts other objects of the same Pool, must leave
// a sound Pool.
func TestResetReentersAndPanics(t *testing.T) {
	type node struct {
		child *node
		bad   bool
	}
	var p *Pool[node]
	p = New(Options[node]{Reset: func(n *node) {
		if n.bad {
			panic("bad node")
		}
		if n.child != nil {
			p.Put(n.child)
		}
		*n = node{}
	}})
	a, b := p.Get(), p.Get()
	a.child = b
	p.Put(a)
	if s := p.Stats(); s.Free != 2 || s.InUse != 0 || s.Puts != 2 {
		t.Fatalf("after a nested Put: %+v", s)
	}
	if x, y := p.Get(), p.Get(); x != a || y != b {
		t.Fatal("after a nested Put: want the parent on top, then the child")
	}
	a.bad = true
	testenv.Panics(t, "bad node", func() { p.Put(a) })
	if s := p.Stats(); s.Free != 0 || s.InUse != 2 {
		t.Fatalf("after a panic in Reset: %+v", s)
	}
}

func TestDoublePut(t *testing.T) {
	if !checkDoublePut {
		t.Skip("the check is not part of this build")
	}
	p := New(Options[thing]{})
	x, y := p.Get(), p.Get()
	p.Put(x)
	p.Put(y)
	testenv.Panics(t, "objpool: double Put of *objpool.thing", func() { p.Put(x) })
	p.Get()
	p.Get()
	p.Put(x) // free, in use and free again is no double Put
	p.Trim(0)

	z := New(Options[struct{}]{})
	a, b := z.Get(), z.Get()
	z.Put(a)
	z.Put(b) // zero-size objects share an address
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if checkDoublePut {
		t.Skip("the double-put check keeps a map")
	}
	p := New(Options[thing]{Chunk: 8, Cap: 100, Reset: func(x *thing) { *x = thing{} }})
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
	chunks := New(Options[thing]{Chunk: 50, Cap: -1})
	n := testing.AllocsPerRun(20, func() {
		for range 100 {
			chunks.Get()
		}
	})
	testenv.True(t, n == 2, "%v allocations for 100 objects in chunks of 50, want 2", n)
}

// TestAgainstModel runs random calls against a plain list of free objects: that
// put last comes first and is kept by Trim, Cap bounds what is free,
// Reset runs at each Put, and chunks are made and dropped as a whole.
func TestAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for round := range 40 {
		opts := Options[thing]{Chunk: r.IntN(20), Cap: r.IntN(60) - 5, Reset: func(x *thing) {
			x.payload = nil
		}}
		m := &model{p: New(opts), o: opts.withDefaults()}
		for op := range 2000 {
			m.at = fmt.Sprintf("round %d op %d", round, op)
			switch k := r.IntN(100); {
			case k < 50:
				m.get(t, op+1)
			case k < 99 && len(m.used) > 0:
				m.put(t, r.IntN(len(m.used)))
			case k == 99:
				m.trim(t, r.IntN(40)-3)
			}
			m.check(t)
		}
	}
}

// model does to two slices what it does to a pool.
type model struct {
	p                           *Pool[thing]
	o                           Options[thing]
	at                          string // the round and the operation, for reports
	used, free                  []*thing
	fresh                       int // of the last chunk
	gets, puts, reused, dropped uint64
}

func (m *model) get(t *testing.T, id int) {
	t.Helper()
	x := m.p.Get()
	m.gets++
	if n := len(m.free); n > 0 {
		m.reused++
		if x != m.free[n-1] {
			t.Fatalf("%s: Get returned %p, want %p, the one put last", m.at, x, m.free[n-1])
		}
		m.free = m.free[:n-1]
	} else if m.fresh = (m.fresh + m.o.Chunk - 1) % m.o.Chunk; *x != (thing{}) {
		t.Fatalf("%s: new object is %+v", m.at, *x)
	}
	if slices.Contains(m.used, x) {
		t.Fatalf("%s: Get returned an object in use", m.at)
	}
	x.id, x.payload = id, new([256]byte)
	m.used = append(m.used, x)
}

func (m *model) put(t *testing.T, i int) {
	t.Helper()
	x := m.used[i]
	m.used = slices.Delete(m.used, i, i+1)
	m.p.Put(x)
	m.puts++
	if x.payload != nil {
		t.Fatalf("%s: Put without Reset", m.at)
	}
	if len(m.free) < m.o.Cap {
		m.free = append(m.free, x)
	} else {
		m.dropped++
	}
}

func (m *model) trim(t *testing.T, keep int) {
	m.p.Trim(keep)
	keep = max(keep, 0)
	if len(m.free)+m.fresh > keep {
		m.dropped += uint64(m.fresh)
		m.fresh = 0
	}
	if n := len(m.free) - keep; n > 0 {
		m.free = m.free[n:]
		m.dropped += uint64(n)
		testenv.True(t, cap(m.p.free) < 4*(keep+1), "%s: room for %d", m.at, cap(m.p.free))
	}
}

// check compares the pool's figures with the model's.
func (m *model) check(t *testing.T) {
	t.Helper()
	s := m.p.Stats()
	want := Stats{
		Gets: m.gets, Puts: m.puts, Reused: m.reused, Dropped: m.dropped,
		Chunks:    s.Allocated / uint64(m.o.Chunk),
		Allocated: s.Allocated, Free: len(m.free), InUse: len(m.used), Fresh: m.fresh,
	}
	if s != want || s.Allocated != uint64(s.InUse+s.Free+s.Fresh)+s.Dropped {
		t.Fatalf("%s: Stats\n got %+v\nwant %+v", m.at, s, want)
	}
	for _, x := range m.p.free[len(m.p.free):cap(m.p.free)] {
		if x != nil {
			t.Fatalf("%s: a popped slot still holds an object", m.at)
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
		name  string
		opts  Options[thing]
		after func(*Pool[thing])
		want  int // of 8 objects
	}{
		{"dropped by Put", Options[thing]{Chunk: 1, Cap: -1}, func(*Pool[thing]) {}, 8},
		{"above Cap", Options[thing]{Chunk: 1, Cap: 3}, func(*Pool[thing]) {}, 5},
		{"trimmed by copying down", Options[thing]{Chunk: 1, Cap: 8}, func(p *Pool[thing]) {
			p.Trim(5)
		}, 3},
		{"trimmed to a new list", Options[thing]{Chunk: 1, Cap: 8}, func(p *Pool[thing]) {
			p.Trim(1)
		}, 7},
		{"trimmed to nothing", Options[thing]{Chunk: 1, Cap: 8}, func(p *Pool[thing]) {
			p.Trim(0)
		}, 8},
		{"taken and forgotten", Options[thing]{Chunk: 1, Cap: 8}, func(p *Pool[thing]) {
			p.Get()
			p.Get()
		}, 2},
		// A chunk goes when its last object does; only its first object carries
		// a cleanup here.
		{"whole chunks", Options[thing]{Chunk: 4, Cap: -1}, func(*Pool[thing]) {}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New(tt.opts)
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
			tt.after(p)
			wait(t, tt.want)
			runtime.KeepAlive(p)
		})
	}
}
