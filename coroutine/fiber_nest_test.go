package coroutine

import (
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestDeepChain: each of many coroutines resumes the next, which yields twice
// through all of them.
func TestDeepChain(t *testing.T) {
	const depth = 1000
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
