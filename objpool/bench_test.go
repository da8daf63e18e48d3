package objpool_test

import (
	"sync"
	"testing"

	"github.com/netco-go/netco/objpool"
)

type object struct {
	_ *object
	_ [56]byte
}

const burst = 64

func BenchmarkPool(b *testing.B) {
	p := objpool.New(objpool.Options[object]{})
	b.Run("single", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Put(p.Get())
		}
	})
	b.Run("burst64", func(b *testing.B) {
		b.ReportAllocs()
		var held [burst]*object
		for b.Loop() {
			for i := range held {
				held[i] = p.Get()
			}
			for _, x := range held {
				p.Put(x)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/object")
	})
}

func BenchmarkSyncPool(b *testing.B) {
	p := sync.Pool{New: func() any { return new(object) }}
	b.Run("single", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Put(p.Get().(*object))
		}
	})
	b.Run("burst64", func(b *testing.B) {
		b.ReportAllocs()
		var held [burst]*object
		for b.Loop() {
			for i := range held {
				held[i] = p.Get().(*object)
			}
			for _, x := range held {
				p.Put(x)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/object")
	})
}

// BenchmarkChunk shows what a chunk saves over single allocations when nothing
// is ever reused.
func BenchmarkChunk(b *testing.B) {
	for _, chunk := range []int{1, 16} {
		b.Run(map[int]string{1: "1", 16: "16"}[chunk], func(b *testing.B) {
			b.ReportAllocs()
			p := objpool.New(objpool.Options[object]{Chunk: chunk})
			for b.Loop() {
				sink = p.Get()
			}
		})
	}
}

var sink *object
