package hist

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBucketsTileTheRange(t *testing.T) {
	var next int64
	for i := range buckets {
		low, width := bounds(i)
		if low != next {
			t.Fatalf("bucket %d starts at %d, want %d", i, low, next)
		}
		if index(low) != i || index(low+width-1) != i {
			t.Fatalf("bucket %d [%d,+%d): ends map to %d and %d", i, low, width, index(low),
				index(low+width-1))
		}
		next = low + width
	}
	if next != maxValue+1 {
		t.Fatalf("buckets end at %d, want %d", next, int64(maxValue+1))
	}
}

func TestQuantileWithinOnePercent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	values := make([]int64, 50_000)
	for i := range values {
		values[i] = int64(1) << rng.IntN(34)
		values[i] += rng.Int64N(values[i])
		h.Record(values[i])
	}
	slices.Sort(values)
	for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
		rank := max(int(q*float64(len(values))+0.999999), 1)
		want, got := float64(values[rank-1]), float64(h.Quantile(q))
		if got < want*0.99-1 || got > want*1.01+1 {
			t.Errorf("Quantile(%v) = %v, want %v within 1%%", q, got, want)
		}
	}
}

func TestEdges(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Max() != 0 || h.Count() != 0 {
		t.Error("an empty histogram is not all zero")
	}
	h.Record(-5)
	if got := h.Quantile(1); got != 0 {
		t.Errorf("a negative value counts as %d, want 0", got)
	}
	h.Record(1 << 60)
	if got := h.Max(); got < maxValue/100*99 {
		t.Errorf("a huge value counts as %d, want about %d", got, int64(maxValue))
	}
	for range 98 {
		h.Record(100)
	}
	for _, c := range []struct {
		q    float64
		want int64
	}{{0.01, 0}, {0.02, 100}, {0.5, 100}, {0.99, 100}} {
		if got := h.Quantile(c.q); got != c.want {
			t.Errorf("Quantile(%v) = %d, want %d", c.q, got, c.want)
		}
	}
}

func TestMergeAndReset(t *testing.T) {
	var a, b Histogram
	a.Record(10)
	b.Record(30)
	b.Record(30)
	a.Merge(&b)
	if a.Count() != 3 || a.Quantile(0.5) != 30 {
		t.Errorf("merged: count %d, median %d, want 3 and 30", a.Count(), a.Quantile(0.5))
	}
	a.Reset()
	if a.Count() != 0 {
		t.Errorf("count %d after Reset", a.Count())
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := new(Histogram)
	if n := testing.AllocsPerRun(100, func() { h.Record(12345) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := new(Histogram)
	for i := range b.N {
		h.Record(int64(i) & 0xfffff)
	}
}
