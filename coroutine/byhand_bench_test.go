package coroutine_test

import (
	"iter"
	"testing"

	"github.com/netco-go/netco/coroutine"
)

// BenchmarkGenerator is one value from a generator: by iter.Pull, by Resume, by ranging over All.
func BenchmarkGenerator(b *testing.B) {
	b.Run("iter.Pull", func(b *testing.B) {
		next, stop := iter.Pull(func(yield func(int) bool) {
			for i := 0; yield(i); i++ {
			}
		})
		defer stop()
		for b.Loop() {
			next()
		}
	})
	numbers := func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
		for i := 0; ; i++ {
			y.Yield(i)
		}
	}
	b.Run("Resume", func(b *testing.B) {
		f := coroutine.New(numbers)
		defer f.Cancel()
		for b.Loop() {
			f.Resume(struct{}{})
		}
	})
	b.Run("All", func(b *testing.B) {
		f := coroutine.New(numbers)
		defer f.Cancel()
		n := 0
		for range f.All(struct{}{}) {
			if n++; n > b.N {
				break
			}
		}
	})
}

// BenchmarkCreate is a coroutine's whole life, with three values.
func BenchmarkCreate(b *testing.B) {
	b.Run("iter.Pull", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			next, stop := iter.Pull(func(yield func(int) bool) { _ = yield(1) && yield(2) && yield(3) })
			for _, ok := next(); ok; _, ok = next() {
			}
			stop()
		}
	})
	b.Run("New", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := coroutine.New(func(y *coroutine.Yielder[struct{}, int], _ struct{}) int {
				y.Yield(1)
				y.Yield(2)
				return 3
			})
			for f.Status() != coroutine.StatusDead {
				f.Resume(struct{}{})
			}
		}
	})
}
