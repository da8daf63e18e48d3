package coroutine

import (
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// TestDeepChain: each of many coroutines resumes the next, which yields twice
// through all of them.
func TestDeepChain(t *testing.T) {
	depth := 10_000
	if goruntime.RaceEnabled {
		depth = 1000 // the detector has room for 8128 goroutines
	}
	var level func(n int) Fiber[int, int]
	level = func(n int) Fiber[int, int] {
		return New(func(y *Yielder[int, int], in int) int {
			if n == depth {
				in, _ = y.Yield(in)
				return in
			}
			next := level(n + 1)
			got, err := next.Resume(in + 1)
			testenv.NoError(t, err)
			in, _ = y.Yield(got + 1)
			got, _ = next.Resume(in + 1)
			testenv.Equal(t, next.Status(), StatusDead, "it has not ended")
			return got + 1
		})
	}
	chain := func() {
		f := level(1)
		f.expect(t, 1, 1+2*(depth-1), nil)
		f.expect(t, 5, 5+2*(depth-1), nil)
		testenv.Equal(t, f.Status(), StatusDead, "the first has not ended")
	}
	chain()
	on(plain, func(*Executor) { chain() })
}

// TestDeepCancel cancels the first of a chain of which each resumes the next in
// a deferred call.
func TestDeepCancel(t *testing.T) {
	homes(t, func(t *testing.T) {
		const depth = 200
		var order []int
		var level func(n int) Fiber[int, int]
		level = func(n int) Fiber[int, int] {
			return New(func(y *Yielder[int, int], in int) int {
				var next Fiber[int, int]
				if n < depth {
					next = level(n + 1)
					next.Resume(0)
				}
				defer func() {
					next.Cancel()
					order = append(order, n)
				}()
				y.Yield(0)
				t.Error("Yield returns when the coroutine is cancelled")
				return 0
			})
		}
		f := level(1)
		f.Resume(0)
		testenv.NoError(t, f.Cancel())
		if len(order) != depth || !slices.IsSortedFunc(order, func(a, b int) int { return b - a }) {
			t.Errorf("ended in the order %v", order)
		}
	})
}

// tree is a binary tree of the numbers from lo to hi.
type tree struct {
	left, right *tree
	n           int
}

func newTree(lo, hi int) *tree {
	if lo > hi {
		return nil
	}
	mid := (lo + hi) / 2
	return &tree{newTree(lo, mid-1), newTree(mid+1, hi), mid}
}

// walk yields a tree's numbers in order from a recursion within one coroutine.
func (tr *tree) walk(y *Yielder[struct{}, int]) {
	if tr == nil {
		return
	}
	tr.left.walk(y)
	y.Yield(tr.n)
	tr.right.walk(y)
}

// fibers is a generator of a tree's numbers in which each subtree has a
// coroutine of its own.
func (tr *tree) fibers() Fiber[struct{}, int] {
	return New(func(y *Yielder[struct{}, int], _ struct{}) int {
		if tr == nil {
			return 0
		}
		for n := range tr.left.fibers().All(struct{}{}) {
			y.Yield(n)
		}
		y.Yield(tr.n)
		for n := range tr.right.fibers().All(struct{}{}) {
			y.Yield(n)
		}
		return 0
	})
}

func TestRecursion(t *testing.T) {
	homes(t, func(t *testing.T) {
		const n = 100
		var want []int
		for i := range n {
			want = append(want, i)
		}
		tr := newTree(0, n-1)
		walker := New(func(y *Yielder[struct{}, int], _ struct{}) int { tr.walk(y); return 0 })
		if got := slices.Collect(walker.All(struct{}{})); !slices.Equal(got, want) {
			t.Errorf("by recursion: %v", got)
		}
		got := slices.Collect(tr.fibers().All(struct{}{}))
		testenv.True(t, slices.Equal(got, want), "by coroutines: %v", got)
	})
}

// TestMutual: two coroutines resume one another in turns through a third.
func TestMutual(t *testing.T) {
	inHomes(t, map[string]func(t *testing.T){"ping-pong": pingPong})
}

// pingPong: each resumes the other when that is suspended, and yields when
// resumed by it.
func pingPong(t *testing.T) {
	var ping, pong Fiber[int, int]
	play := func(other *Fiber[int, int]) func(y *Yielder[int, int], n int) int {
		return func(y *Yielder[int, int], n int) int {
			for n < 1000 {
				if other.Status() == StatusNormal {
					n, _ = y.Yield(n + 1)
					continue
				}
				got, err := other.Resume(n + 1)
				testenv.NoError(t, err)
				n, _ = y.Yield(got + 1)
			}
			return n
		}
	}
	ping, pong = New(play(&pong)), New(play(&ping))
	n := 0
	for turn := 0; ping.Status() != StatusDead && pong.Status() != StatusDead; turn++ {
		next := ping
		if turn%2 == 1 {
			next = pong
		}
		got, err := next.Resume(n)
		if err != nil || got < n {
			t.Errorf("turn %d: %d after %d, %v", turn, got, n, err)
			break
		}
		n = got
	}
	ping.Cancel()
	pong.Cancel()
	testenv.True(t, n >= 1000, "it ended at %d", n)
}

func numbers(y *Yielder[struct{}, int], _ struct{}) int {
	for i := range 10 {
		y.Yield(i)
	}
	return 99
}

func TestAll(t *testing.T) {
	inHomes(t, map[string]func(t *testing.T){
		"in parts, then to the end":            allInParts,
		"nested, and cancelled in between":     allNested,
		"panics of either side pass through":   allPanics,
		"Goexit of the body ends the sequence": allExits,
	})
}

func allInParts(t *testing.T) {
	f := New(numbers)
	var got []int
	for n := range f.All(struct{}{}) {
		if got = append(got, n); n == 3 {
			break
		}
	}
	testenv.Equal(t, f.Status(), StatusSuspended, "left early, it is")
	n, _ := f.Resume(struct{}{})
	got = append(got, n)
	seq := f.All(struct{}{})
	for range 2 { // the second is empty
		for n := range seq {
			testenv.Equal(t, f.Status(), StatusSuspended, "between two values it is")
			got = append(got, n)
		}
	}
	testenv.True(t, slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) &&
		f.Status() == StatusDead, "got %v", got)
}

func allNested(t *testing.T) {
	f := New(numbers)
	var got []int
	for n := range f.All(struct{}{}) {
		got = append(got, n)
		for n := range f.All(struct{}{}) {
			got = append(got, -n)
			if n%4 == 0 {
				break
			}
		}
		if n == 5 {
			f.Cancel()
		}
	}
	testenv.True(t, slices.Equal(got, []int{0, -1, -2, -3, -4, 5, -6, -7, -8}), "nested: %v", got)
	f = New(numbers)
	for range f.All(struct{}{}) {
		f.Cancel()
		f = New(numbers) // on the same goroutine, likely
		f.Resume(struct{}{})
	}
	f.Cancel()
}

func allPanics(t *testing.T) {
	f := New(func(y *Yielder[struct{}, int], _ struct{}) int { y.Yield(1); panic("planned") })
	func() {
		defer func() {
			e, ok := recover().(*PanicError)
			testenv.True(t, ok && e.Value == "planned", "All panics with %v", e)
		}()
		for range f.All(struct{}{}) {
		}
		t.Error("All hides a panic")
	}()
	f = New(numbers)
	func() {
		defer func() { recover() }()
		for range f.All(struct{}{}) {
			panic("planned")
		}
	}()
	testenv.Gives(t, 1, nil, "after a panic of the loop")(f.Resume(struct{}{}))
	f.Cancel()
}

func allExits(t *testing.T) {
	f := New(func(y *Yielder[struct{}, int], _ struct{}) int { y.Yield(1); Unwind(); return 0 })
	got := slices.Collect(f.All(struct{}{}))
	testenv.True(t, slices.Equal(got, []int{1}), "one that ends by Goexit gives %v", got)
}
