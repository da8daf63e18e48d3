package fiber_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
)

// places are where the benchmarks of coroutines driven by hand run.
var places = []struct {
	name string
	run  func(f func())
}{
	{"goroutine", func(f func()) { f() }},
	{"coroutine", func(f func()) {
		if err := netco.Run(f); err != nil {
			panic(err)
		}
	}},
}

// BenchmarkGenerator is one value from a generator, by iter.Pull, by Resume, by
// ranging over All, driven by an ordinary goroutine or by a Scheduler's
// coroutine.
func BenchmarkGenerator(b *testing.B) {
	numbers := func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
		for i := 0; ; i++ {
			y.Yield(i)
		}
	}
	ways := []struct {
		name string
		run  func(n int)
	}{
		{"iter.Pull", func(n int) {
			next, stop := iter.Pull(func(yield func(int) bool) {
				for i := 0; yield(i); i++ {
				}
			})
			defer stop()
			for range n {
				next()
			}
		}},
		{"Resume", func(n int) {
			f := coroutine.New(numbers)
			defer f.Cancel()
			for range n {
				f.Resume(struct{}{})
			}
		}},
		{"All", func(n int) {
			f := coroutine.New(numbers)
			defer f.Cancel()
			for range f.All(struct{}{}) {
				if n--; n <= 0 {
					break
				}
			}
		}},
	}
	for _, place := range places {
		for _, way := range ways {
			b.Run(place.name+"/"+way.name, func(b *testing.B) {
				place.run(func() { way.run(b.N) })
			})
		}
	}
}

// BenchmarkCreate makes, resumes and ends a coroutine, with some values.
func BenchmarkCreate(b *testing.B) {
	pull := func(values int) {
		next, stop := iter.Pull(func(yield func(int) bool) {
			for i := range values {
				yield(i)
			}
		})
		for {
			if _, ok := next(); !ok {
				break
			}
		}
		stop()
	}
	byHand := func(values int) {
		f := coroutine.New(func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
			for i := range values {
				y.Yield(i)
			}
			return 0
		})
		for range values + 1 {
			f.Resume(struct{}{})
		}
	}
	for _, place := range places {
		for _, values := range []int{0, 1, 3} {
			for name, life := range map[string]func(int){"iter.Pull": pull, "New": byHand} {
				b.Run(fmt.Sprintf("%s/values=%d/%s", place.name, values, name), func(b *testing.B) {
					b.ReportAllocs()
					place.run(func() {
						for range b.N {
							life(values)
						}
					})
				})
			}
		}
	}
}
