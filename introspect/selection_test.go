package introspect

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
)

// TestPaging: going through all pages, forth and back, in every order and by
// any number of rows, shows each row once and in order.
func TestPaging(t *testing.T) {
	const n = 61
	h := newFake(n).handler(Options{})
	for _, c := range columns["coroutines"] {
		column := c.Name
		for _, sort := range []string{column, "-" + column} {
			whole := ids(getJSON[coroutinesJSON](t, h, "/coroutines.json?rows=1000&sort="+sort))
			if len(whole) != n {
				t.Fatalf("sorted by %s: %d rows", sort, len(whole))
			}
			if sorted := slices.IsSorted(whole); sorted != (sort == "id") {
				t.Errorf("sorted by %s: by id, too: %v", sort, sorted)
			}
			for _, rows := range []int{20, 40, n} {
				var forth, back []uint64
				place, last := "", ""
				for {
					c := getJSON[coroutinesJSON](t, h,
						fmt.Sprintf("/coroutines.json?rows=%d&sort=%s%s", rows, sort, place))
					if c.First != uint64(len(forth)+1) || c.Matched != n ||
						(c.Prev == "") != (len(forth) == 0) {
						t.Fatalf("by %s, %d rows: after %d: first is %d of %d, back %q", sort, rows,
							len(forth), c.First, c.Matched, c.Prev)
					}
					forth = append(forth, ids(c)...)
					if c.Next == "" {
						last = c.Prev
						back = ids(c)
						break
					}
					place = "&after=" + url.QueryEscape(c.Next)
				}
				for last != "" {
					c := getJSON[coroutinesJSON](t, h,
						fmt.Sprintf("/coroutines.json?rows=%d&sort=%s&before=%s", rows, sort,
							url.QueryEscape(last)))
					if c.First != uint64(n-len(back)-len(c.Coroutines)+1) || c.Next == "" {
						t.Fatalf("by %s, %d rows, back: first is %d", sort, rows, c.First)
					}
					back = append(ids(c), back...)
					last = c.Prev
				}
				if !slices.Equal(forth, whole) || !slices.Equal(back, whole) {
					t.Errorf("by %s, %d rows: pages are not the whole: %d forth, %d back", sort,
						rows, len(forth), len(back))
				}
			}
		}
	}
}

func ids(c *coroutinesJSON) (list []uint64) {
	for _, co := range c.Coroutines {
		list = append(list, co.ID)
	}
	return list
}

// TestSortedAsTheyShould: what is said of the rows is in the order that was
// asked for.
func TestSortedAsTheyShould(t *testing.T) {
	h := newFake(400).handler(Options{})
	for _, c := range []struct {
		column  string
		compare func(a, b coroutineJSON) int
	}{
		{"name", func(a, b coroutineJSON) int { return cmp.Compare(a.Name, b.Name) }},
		{"reason", func(a, b coroutineJSON) int { return cmp.Compare(a.Reason, b.Reason) }},
		{"age", func(a, b coroutineJSON) int { return cmp.Compare(a.SinceNs, b.SinceNs) }},
		{"site", func(a, b coroutineJSON) int { return cmp.Compare(a.Line, b.Line) }},
		{"processor", func(a, b coroutineJSON) int {
			return cmp.Compare(a.Processor, b.Processor)
		}},
	} {
		rows := getJSON[coroutinesJSON](t, h, "/coroutines.json?rows=50&sort="+c.column).Coroutines
		if !slices.IsSortedFunc(rows, c.compare) {
			t.Errorf("not sorted by %s", c.column)
		}
		down := getJSON[coroutinesJSON](t, h, "/coroutines.json?rows=50&sort=-"+c.column).Coroutines
		slices.Reverse(down)
		if !slices.IsSortedFunc(down, c.compare) || c.compare(down[0], rows[0]) < 0 ||
			c.compare(down[49], rows[49]) < 0 {
			t.Errorf("not sorted by -%s", c.column)
		}
	}
	for _, c := range columns["sockets"] {
		column := c.Name
		up := getJSON[socketsJSON](t, h, "/sockets.json?rows=1000&sort="+column)
		down := getJSON[socketsJSON](t, h, "/sockets.json?rows=1000&sort=-"+column)
		slices.Reverse(down.Sockets)
		if len(up.Sockets) != 400 || !slices.Equal(up.Sockets, down.Sockets) {
			t.Errorf("sockets by %s are not those by -%s turned round", column, column)
		}
	}
}

// TestSelection: a selection holds what sorting everything would put there,
// whatever is offered in whatever order.
func TestSelection(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range testenv.Rounds(2000) {
		keys := make([]key, random.IntN(60))
		for i := range keys {
			keys[i] = key{n: random.Uint64N(4), text: strings.Repeat("x", random.IntN(3)),
				id: uint64(i)}
		}
		whole := slices.SortedFunc(slices.Values(keys), key.compare)
		s := selection[key]{size: 1 + random.IntN(20), down: random.IntN(2) == 0,
			back: random.IntN(2) == 0}
		if s.down {
			slices.Reverse(whole)
		}
		from, to := 0, min(s.size, len(whole))
		if s.back {
			from, to = max(0, len(whole)-s.size), len(whole)
		}
		if len(whole) > 0 && random.IntN(3) > 0 { // from one of them, or from one that has gone
			i := random.IntN(len(whole))
			k := whole[i]
			s.from = &k
			at := i + 1
			if random.IntN(2) == 0 {
				keys = slices.DeleteFunc(keys, func(x key) bool { return x == k })
				whole = slices.Delete(whole, i, i+1)
				at = i
			} else if s.back {
				at = i
			}
			if from, to = at, min(at+s.size, len(whole)); s.back {
				from, to = max(0, at-s.size), at
			}
		}
		for _, k := range keys {
			s.offer(k, &k)
			if len(s.rows) > 2*s.size+1 {
				t.Fatalf("holds %d rows of a page of %d", len(s.rows), s.size)
			}
		}
		rows, p := s.page()
		if !slices.Equal(rows, whole[from:to]) {
			t.Fatalf("down %v, back %v, from %v, %d rows: %v, want %v", s.down, s.back, s.from,
				s.size, rows, whole[from:to])
		}
		if from < to && (p.First != uint64(from+1) || (p.Prev != "") != (from > 0) ||
			(p.Next != "") != (to < len(whole))) {
			t.Fatalf("first %d, prev %q, next %q, of %d to %d of %d", p.First, p.Prev, p.Next, from,
				to, len(whole))
		}
	}
}

// TestFilters: each filter lets through what it should, and filters add up.
func TestFilters(t *testing.T) {
	f := newFake(700)
	h := f.handler(Options{})
	var all []seen
	f.coroutines(func(c *seen) bool { all = append(all, *c); return true })
	count := func(so func(c *seen) bool) (n uint64) {
		for i := range all {
			if so(&all[i]) {
				n++
			}
		}
		return n
	}
	for query, so := range map[string]func(c *seen) bool{
		"name=echo":            func(c *seen) bool { return strings.Contains(c.Name, "echo") },
		"name=%3Cscript%3E":    func(c *seen) bool { return strings.Contains(c.Name, "<script>") },
		"state=ready":          func(c *seen) bool { return c.State == coroutine.Ready },
		"state=running":        func(c *seen) bool { return false },
		"reason=channel":       func(c *seen) bool { return c.Reason == coroutine.ReasonChannel },
		"processor=1":          func(c *seen) bool { return c.processor == 1 },
		"processor=7":          func(c *seen) bool { return false },
		"site=serve.go:12":     func(c *seen) bool { return c.Line == 12 },
		"site=main.serve":      func(c *seen) bool { return true },
		"site=main.other":      func(c *seen) bool { return false },
		"name=&state=&reason=": func(c *seen) bool { return true },
		"reason=lock&name=echo": func(c *seen) bool {
			return c.Reason == coroutine.ReasonLock && strings.Contains(c.Name, "echo")
		},
	} {
		got := getJSON[coroutinesJSON](t, h, "/coroutines.json?"+query)
		if want := count(so); got.Matched != want || got.Seen != 700 {
			t.Errorf("%s: %d of %d, want %d of 700", query, got.Matched, got.Seen, want)
		}
		if g := getJSON[groupsJSON](t, h, "/coroutines.json?group=name&"+
			query); g.Matched != got.Matched {
			t.Errorf("%s, grouped: %d, want %d", query, g.Matched, got.Matched)
		}
	}
	old := getJSON[coroutinesJSON](t, h, "/coroutines.json?age=5m&rows=1000")
	if old.Matched == 0 || old.Matched == 700 || slices.ContainsFunc(old.Coroutines,
		func(c coroutineJSON) bool { return c.SinceNs < 300e9 }) {
		t.Errorf("of at least five minutes: %d", old.Matched)
	}
	for query, want := range map[string]uint64{
		"": 700, "kind=listener": 7, "kind=idle": 231, "kind=connection": 462, "waits=none": 233,
		"waits=read": 467, "waits=write": 0, "waits=any": 467,
		"processor=0": 350, "network=tc": 700, "network=udp": 0, "address=10.0.0.7:": 1,
		"address=7000": 700,
	} {
		if got := getJSON[socketsJSON](t, h, "/sockets.json?"+query); got.Matched != want {
			t.Errorf("sockets with %s: %d, want %d", query, got.Matched, want)
		}
	}
}

// TestGroupsBounded: with a name for each coroutine the large groups are kept,
// and it is said how many coroutines are in no group.
func TestGroupsBounded(t *testing.T) {
	const n = 100_000
	f := newFake(n)
	f.coroutine = func(i int, c *seen) {
		madeUp(i, c)
		c.Name = fmt.Sprint("connection ", i)
		if i%4 == 3 {
			c.Name = "many"
		}
	}
	h := f.handler(Options{})
	g := getJSON[groupsJSON](t, h, "/coroutines.json?group=name")
	if g.Groups[0].Key != "many" || g.Groups[0].Count != n/4 || len(g.Groups) > shownGroups {
		t.Errorf("%d groups, the largest %+v", len(g.Groups), g.Groups[0])
	}
	testenv.Equal(t, g.Missing, n-n/4-(maxGroups-1), "missing")
	if g.Seen != n || g.Matched != n {
		t.Errorf("%d of %d", g.Matched, g.Seen)
	}
}

// TestWalksOneByOne: a request waits for the walk of another and the rest after
// it, and may leave meanwhile.
func TestWalksOneByOne(t *testing.T) {
	began, goOn := make(chan bool), make(chan bool)
	w := newWalker(func(f func(*int) bool) {
		began <- true
		<-goOn
		one := 1
		f(&one)
	})
	var walks sync.WaitGroup
	saw := 0 // by one walk at a time
	for range 3 {
		walks.Go(func() { testenv.Must(w.walk(context.Background(), func(i *int) { saw += *i })) })
	}
	<-began
	_, err := w.walk(testenv.Over(), func(*int) {
		t.Error("a request that has left is shown something")
	})
	testenv.Fails(t, err, context.Canceled, "a request that leaves")
	for i := range 3 {
		goOn <- true
		if i < 2 {
			<-began
		}
	}
	walks.Wait()
	testenv.Equal(t, saw, 3, "items seen")
}

// TestWalkCutShort: a walk that goes on for longer than may be is ended, and so
// is one for a request that has ended.
func TestWalkCutShort(t *testing.T) {
	w := newWalker(func(f func(*int) bool) {
		for i := 0; f(&i); i++ {
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	if cut, err := w.walk(ctx, func(*int) { cancel() }); !cut || err != nil {
		t.Errorf("for one that has left: cut short %v, %v", cut, err)
	}
	w.limit = 1
	if cut, err := w.walk(context.Background(), func(*int) {}); !cut || err != nil {
		t.Errorf("a walk without end: cut short %v, %v", cut, err)
	}
}

// TestMillion: with a million coroutines and sockets at full length, a page
// costs what its rows cost, in memory as in bytes, and is over in bounded time.
func TestMillion(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector takes too much memory and time for a million")
	}
	once(t)
	n := many(20_000, 1_000_000)
	f := newFake(n)
	var heap liveHeap
	coroutines, sockets := f.coroutines, f.sockets
	f.coroutines = func(see func(*seen) bool) { coroutines(watched(&heap, n, see)) }
	f.sockets = func(see func(*sockinfo.Info) bool) { sockets(watched(&heap, n, see)) }
	for _, page := range []string{
		"", "coroutines", "coroutines?rows=1000&sort=-age", "coroutines?sort=name",
		"coroutines?sort=-site&name=e", "coroutines?group=name",
		"coroutines?group=site", fmt.Sprint("coroutine?id=", n-1), "sockets?rows=1000",
		"sockets?kind=idle&sort=-processor",
	} {
		h := f.handler(Options{}) // which has no rest to wait out
		heap.begin()
		began := time.Now()
		text, _ := get(t, h, "/"+page, 200)
		if took := time.Since(began); took > requestLimit {
			t.Errorf("%q took %v", page, took)
		}
		if len(text) > 1<<20 {
			t.Errorf("%q has %d bytes", page, len(text))
		}
		// All rows would be several hundred times n.
		if heap.looks < looksPerWalk || heap.grown > 32*uint64(n) {
			t.Errorf("%q: the heap grew by %d KiB, in %d looks", page, heap.grown>>10, heap.looks)
		}
	}
	h := f.handler(Options{})
	if c := getJSON[coroutinesJSON](t, h,
		fmt.Sprintf("/coroutines.json?rows=1000&sort=id&after=%d.%[1]d.", n-500)); c.Seen != uint64(
		n) || c.Matched != uint64(n) || c.First == 0 {
		t.Errorf("%+v", c.listJSON)
	}
}

// liveHeap is by how much the live heap has grown since begin, at most. It is
// looked at by the walker, between two items: what another goroutine makes
// while a look lasts would be counted, and be garbage.
type liveHeap struct {
	before, grown uint64
	looks         int
}

const looksPerWalk = 2

func (l *liveHeap) begin() {
	*l = liveHeap{}
	l.before = l.now()
}

func (l *liveHeap) now() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (l *liveHeap) look() {
	l.looks++
	if now := l.now(); now > l.before {
		l.grown = max(l.grown, now-l.before)
	}
}

// watched has the heap looked at several times in a walk of n items, the last
// time at its end.
func watched[T any](l *liveHeap, n int, see func(*T) bool) func(*T) bool {
	i := 0
	return func(item *T) bool {
		more := see(item)
		if i++; i%(n/looksPerWalk) == 0 {
			l.look()
		}
		return more
	}
}
