package timer

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/testenv"
)

// check holds h against the invariants of the heap.
func check(t *testing.T, h *Heap) {
	t.Helper()
	for i := range min(root, len(h.items)) {
		if h.items[i] != (item{}) {
			t.Fatalf("slot %d before the root is used", i)
		}
	}
	for i := root; i < len(h.items); i++ {
		it := h.items[i]
		if int(it.t.pos) != i {
			t.Fatalf("item %d: its Timer says %d", i, it.t.pos)
		}
		if it.when > it.t.when {
			t.Fatalf("item %d: %d is later than its Timer's deadline %d", i, it.when, it.t.when)
		}
		if i > root && less(it, h.items[parent(i)]) {
			t.Fatalf("item %d (%d) is before its parent (%d)", i, it.when, h.items[parent(i)].when)
		}
	}
	for i, it := range h.items[len(h.items):cap(h.items)] {
		if it != (item{}) {
			t.Fatalf("free slot %d still holds a Timer", len(h.items)+i)
		}
	}
}

// pending reports whether t is queued in h.
func (h *Heap) pending(t *Timer) bool { return t.pos != 0 && h.index(t) != 0 }

// deadline returns the time t is queued for; ok is false if t is not queued.
func (h *Heap) deadline(t *Timer) (when int64, ok bool) {
	if t.pos == 0 {
		return 0, false
	}
	return h.items[h.index(t)].t.when, true
}

// recorder gives out Timers that note their number when they run.
type recorder struct{ ran []int }

func (r *recorder) timer(n int) *Timer {
	return &Timer{F: func(arg any, _ int64) { r.ran = append(r.ran, arg.(int)) }, Arg: n}
}

func TestSize(t *testing.T) {
	testenv.Equal(t, unsafe.Sizeof(Timer{}), 40, "bytes of a Timer")
	testenv.Equal(t, unsafe.Sizeof(item{}), 16, "bytes of an item")
	for i := root + 1; i < 1000; i++ { // parent and firstChild agree
		if c := firstChild(parent(i)); i < c || i > c+3 {
			t.Fatalf("item %d: parent %d, whose children start at %d", i, parent(i), c)
		}
	}
}

func TestMisuse(t *testing.T) {
	var h, other Heap
	var r recorder
	testenv.Panics(t, "timer: Set of a Timer whose F is nil", func() { h.Set(new(Timer), 1) })
	x := r.timer(1)
	other.Set(r.timer(2), 1)
	h.Set(x, 1)
	const want = "is queued in another Heap, or a copy of a queued Timer"
	testenv.Panics(t, want, func() { other.Set(x, 0) })
	if invariant.Enabled {
		testenv.Panics(t, want, func() { other.Set(x, 2) })
	}
	testenv.Panics(t, want, func() { other.Cancel(x) })
	testenv.Panics(t, want, func() { new(Heap).Cancel(x) })
	testenv.Panics(t, want, func() { other.pending(x) })
	testenv.Panics(t, want, func() { other.deadline(x) })
	copied := &Timer{F: x.F, Arg: x.Arg, when: x.when, pos: x.pos}
	testenv.Panics(t, want, func() { h.Cancel(copied) })
	check(t, &h)
	check(t, &other)
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		whens []int64
		now   int64
		max   int
		want  []int // indices of whens, in the order they run
		next  int64 // 0: none left
	}{
		{"none due", []int64{5, 3, 4}, 2, 0, nil, 3},
		{"due at the exact time", []int64{5, 3, 4}, 3, 0, []int{1}, 4},
		{"sorted", []int64{5, 3, 4, 1, 2}, 10, 0, []int{3, 4, 1, 2, 0}, 0},
		{"ties in order of Set", []int64{2, 1, 2, 1, 2, 1}, 2, 0, []int{1, 3, 5, 0, 2, 4}, 0},
		{"max", []int64{5, 3, 4, 1, 2}, 10, 2, []int{3, 4}, 3},
		{"max above the number due", []int64{5, 1}, 2, 100, []int{1}, 5},
		{"negative max is no bound", []int64{2, 1}, 2, -7, []int{1, 0}, 0},
		{"negative deadlines", []int64{-1, 0, math.MinInt64, 1}, 0, 0, []int{2, 0, 1}, 1},
		{"negative now", []int64{-1, -3}, -2, 0, []int{1}, -1},
		{"never", []int64{math.MaxInt64, math.MaxInt64 - 1}, math.MaxInt64, 0, []int{1},
			math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h Heap
			var r recorder
			for i, when := range tt.whens {
				h.Set(r.timer(i), when)
				check(t, &h)
			}
			if n := h.Expire(tt.now, tt.max); n != len(tt.want) || !slices.Equal(r.ran, tt.want) {
				t.Errorf("%d ran: %v, want %v", n, r.ran, tt.want)
			}
			check(t, &h)
			when, ok := h.Next()
			testenv.True(t, ok == (tt.next != 0) && when == tt.next, "next %d, %v, want %d", when,
				ok, tt.next)
			testenv.Equal(t, h.Len(), len(tt.whens)-len(tt.want), "left")
		})
	}
}

// A move to a later deadline leaves the heap as it is, and costs one placement
// however often it was made.
func TestMovesToLaterAreDeferred(t *testing.T) {
	var h Heap
	timers := make([]Timer, 100)
	for i := range timers {
		timers[i].F = func(any, int64) {}
		h.Set(&timers[i], int64(i))
	}
	placed := h.seq
	for round := int64(1); round <= 1000; round++ {
		for i := range timers {
			h.Set(&timers[i], round*1000+int64(i))
		}
	}
	testenv.Equal(t, h.seq-placed, 0, "placements for moves to a later deadline")
	when, _ := h.Next()
	testenv.True(t, when == 1000_000, "Next %d, want 1000000", when)
	if n := h.Expire(2000_000, 0); n != 100 || h.seq-placed != 100 {
		t.Errorf("%d ran, with %d placements, want 100 and 100", n, h.seq-placed)
	}
}

// The order of ties survives a wrap of the counter that keeps it.
func TestTieOrderAcrossWrap(t *testing.T) {
	h := Heap{seq: math.MaxUint32 - 50}
	var r recorder
	for i := range 100 {
		h.Set(r.timer(i), 7)
	}
	h.Expire(7, 0)
	testenv.True(t, slices.IsSorted(r.ran) && len(r.ran) == 100, "ran %v", r.ran)
}

func TestInsideF(t *testing.T) {
	var h Heap
	var log []string
	var a, b, c Timer
	note := func(s string) { log = append(log, s) }
	for _, tt := range []struct {
		name string
		f    func(now int64) // F of a, due first; b and c are due right after
		want string
		left int
	}{
		{"off the heap before F", func(int64) {
			if h.pending(&a) || h.Cancel(&a) || h.Len() != 2 {
				note("still queued")
			}
		}, "a b c", 0},
		{"cancel one that is due", func(int64) { h.Cancel(&b) }, "a c", 0},
		{"cancel all", func(int64) { h.Cancel(&b); h.Cancel(&c) }, "a", 0},
		{"move a due one out", func(now int64) { h.Set(&b, now+1) }, "a c", 1},
		{"move a due one to another due time", func(now int64) { h.Set(&c, now-100) }, "a b", 1},
		{"set itself later", func(now int64) { h.Set(&a, now+50) }, "a b c", 1},
		{"set itself to now", func(now int64) { h.Set(&a, now) }, "a b c", 1},
		{"set itself before all", func(int64) { h.Set(&a, math.MinInt64) }, "a b c", 1},
		{"set and cancel itself", func(now int64) { h.Set(&a, now); h.Cancel(&a) }, "a b c", 0},
		{"nested Expire", func(now int64) {
			h.Set(&a, now)
			h.Expire(now, 1)
			note("back")
			h.Set(&a, now-1)
		}, "a b back c", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, log = Heap{}, nil
			a = Timer{F: func(_ any, now int64) { note("a"); tt.f(now) }}
			b = Timer{F: func(any, int64) { note("b") }}
			c = Timer{F: func(any, int64) { note("c") }}
			h.Set(&a, 10)
			h.Set(&b, 20)
			h.Set(&c, 30)
			h.Expire(100, 0)
			testenv.Equal(t, strings.Join(log, " "), tt.want, "ran")
			testenv.Equal(t, h.Len(), tt.left, "left")
			if when, ok := h.Next(); ok && when <= 100 {
				t.Errorf("left for %d, which this Expire should have run", when)
			}
			h.Set(&a, 1)
			when, _ := h.deadline(&a)
			testenv.True(t, when == 1, "the floor of Expire outlives it")
			check(t, &h)
		})
	}
}

func TestPanicInF(t *testing.T) {
	var h Heap
	var r recorder
	bad := &Timer{F: func(any, int64) { panic("bad timer") }}
	h.Set(bad, 1)
	h.Set(r.timer(1), 2)
	testenv.Panics(t, "bad timer", func() { h.Expire(10, 0) })
	check(t, &h)
	late := r.timer(2)
	if h.Set(late, 1); h.pending(bad) || h.Len() != 2 {
		t.Fatal("the Timer that panicked is not spent")
	}
	h.Expire(10, 0)
	testenv.True(t, slices.Equal(r.ran, []int{2, 1}), "ran %v after a panic, want 2 1", r.ran)
}

const (
	second = int64(time.Second)
	day    = 24 * 3600 * second
	year   = 365 * day
)

// wakes runs h in virtual time from start, as an epoll loop would, until the
// deadline end, and returns the times it woke.
func wakes(h *Heap, end int64) (at []int64) {
	for {
		when, ok := h.Next()
		if !ok || when > end {
			return at
		}
		at = append(at, when)
		h.Expire(when, 0)
	}
}

// Regression test against libco, whose timing wheel holds 60 s: longer timeouts
// are cut short (to 40-60 s); and against libgo, where sleeps of more than 7 s
// broke and, after days of uptime, waiting became a spin: one wake-up for each
// timer, at its time, after any uptime.
func TestLongSleepsNeitherEndEarlyNorSpin(t *testing.T) {
	for _, uptime := range []int64{0, 25 * day, 50 * day, 10 * year, 200 * year} {
		var h Heap
		var r recorder
		var want []int64
		for i, d := range []int64{second, 7*second + 1, 8 * second, 41 * second, 59 * second,
			61 * second, 3600 * second, 30 * day, 50 * day, 90 * year} {
			h.Set(r.timer(i), uptime+d)
			want = append(want, uptime+d)
		}
		if got := wakes(&h, math.MaxInt64-1); !slices.Equal(got, want) {
			t.Errorf("uptime %v: woke at %v, want %v", time.Duration(uptime), got, want)
		}
	}
	// A periodic timer over 60 virtual days.
	var h Heap
	var tick Timer
	tick.F = func(_ any, now int64) { h.Set(&tick, now+3600*second) }
	h.Set(&tick, 3600*second)
	if got := wakes(&h, 60*day); len(got) != 60*24 {
		t.Errorf("an hourly Timer woke %d times in 60 days, want %d", len(got), 60*24)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var h Heap
	timers := make([]Timer, 10000)
	for i := range timers {
		timers[i].F = func(any, int64) {}
		h.Set(&timers[i], int64(i))
	}
	i := 0
	if n := testing.AllocsPerRun(10000, func() {
		x := &timers[i%len(timers)]
		h.Cancel(x)
		h.Set(x, int64(i*7919%10000))
		h.Set(x, int64(i*104729%10000))
		i++
	}); n != 0 {
		t.Errorf("%v allocations per Cancel and Set, want 0", n)
	}
	// Emptying and filling again below the size that is kept.
	var small Heap
	few := make([]Timer, 700)
	for i := range few {
		few[i].F = func(any, int64) {}
	}
	n := testing.AllocsPerRun(100, func() {
		for i := range few {
			small.Set(&few[i], 5)
		}
		for i := range few {
			small.Cancel(&few[i])
		}
	})
	testenv.True(t, n == 0, "%v allocations per round of 700, want 0", n)
}

func TestArrayShrinks(t *testing.T) {
	var h Heap
	const n = 1 << 17
	timers := make([]Timer, n)
	for i := range timers {
		timers[i].F = func(any, int64) {}
		h.Set(&timers[i], int64(i))
	}
	top := cap(h.items)
	for i := range n {
		if i%2 == 0 {
			h.Expire(math.MaxInt64, 1)
		} else {
			h.Cancel(h.items[len(h.items)-1].t)
		}
		if l, c := len(h.items), cap(h.items); c > minCap && l < c/4 {
			t.Fatalf("room for %d with %d queued", c, l)
		}
	}
	check(t, &h)
	c := cap(h.items)
	testenv.True(t, c <= minCap && top >= n, "room for %d left of %d", c, top)
}

// TestHammer makes random calls on a big heap and holds it against the model.
func TestHammer(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	b := newBoth(t, 5000)
	for op := range testenv.Rounds(200_000) {
		id := r.IntN(len(b.timers))
		switch k := r.IntN(100); {
		case k < 60:
			b.set(id, randomWhen(r, b.now))
		case k < 97:
			b.cancel(id)
		default:
			b.now += r.Int64N(300)
			b.expire(r.IntN(50))
		}
		if op%200 == 0 {
			b.agree(id)
		}
		if op%1000 == 0 {
			b.next()
		}
	}
	b.agree(0)
}

// randomWhen returns a deadline: a tie, one in the past, near, or far.
func randomWhen(r *rand.Rand, now int64) int64 {
	switch r.IntN(4) {
	case 0:
		return now + 100 // ties
	case 1:
		return now - r.Int64N(50)
	case 2:
		return now + r.Int64N(100*year)
	}
	return now + r.Int64N(1000)
}
