package counter

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBuckets holds bucketOf against the definition.
func TestBuckets(t *testing.T) {
	check := func(ns int64) {
		t.Helper()
		s := float64(ns) * 1e-9
		i := bucketOf(ns)
		if !(s <= math.Exp2(float64(i)/4)*(1+1e-15)) || !(s > math.Exp2(float64(i-1)/4)*(1-1e-15)) {
			t.Errorf("%d ns are in bucket %d, (%g, %g] s", ns, i, math.Exp2(float64(i-1)/4),
				math.Exp2(float64(i)/4))
		}
	}
	for i := FirstBucket; i <= lastBucket; i++ {
		edge := int64(math.Exp2(float64(i)/4) * 1e9)
		for d := int64(-2); d <= 2; d++ {
			check(edge + d)
		}
	}
	for range 100_000 {
		check(1 + rand.Int64N(1<<rand.IntN(40)))
	}
	for _, c := range []struct {
		ns   int64
		want int
	}{{1e9, 0}, {1e9 + 1, 1}, {2e9, 4}, {5e8, -4}, {250e6, -8}, {1 << 62, 4 * 33}} {
		if got := bucketOf(c.ns); got != c.want && c.ns < 1<<61 {
			t.Errorf("bucketOf(%d) = %d, want %d", c.ns, got, c.want)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h Histogram
	for _, ns := range []int64{0, -5, 119, 120, 1_000, 1e9, 1e9, 1e15, math.MaxInt64} {
		h.Observe(ns)
	}
	s := h.Snapshot()
	if s.Count != 9 || s.Zero != 3 {
		t.Errorf("count %d, zero %d; want 9, 3", s.Count, s.Zero)
	}
	if got := s.Buckets[0-FirstBucket]; got != 2 {
		t.Errorf("%d in the bucket that ends at 1 s, want 2", got)
	}
	if got := s.Buckets[len(s.Buckets)-1]; got != 2 {
		t.Errorf("%d in the last bucket, want 2", got)
	}
	if want := uint64(119+120+1_000+2e9+1e15) + math.MaxInt64; s.SumNs != want {
		t.Errorf("sum %d, want %d", s.SumNs, want)
	}
	if n := testing.AllocsPerRun(100, func() { h.Observe(12345) }); n != 0 {
		t.Errorf("Observe allocates %v times", n)
	}
}
