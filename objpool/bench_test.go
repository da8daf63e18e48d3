package objpool_test

import (
	"testing"

	"github.com/netco-go/netco/objpool"
)

type object struct {
	_ *object
	_ [56]byte
}

const burst = 64

func BenchmarkPool(b *testing.B) {
	p := objpool.New[object](16, 1024)
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
