package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/testenv"
)

// durations of many sizes, the awkward ones among them: nothing, the bounds
// themselves, and what is beyond the last bucket.
func durations(r *rand.Rand, n int) (ns []int64) {
	ns = []int64{0, 1, 119, 120, 1e9, 4e9, 16e9, 16e9 + 1, 1<<62 - 1}
	for len(ns) < n {
		ns = append(ns, int64(math.Exp2(r.Float64()*38)))
	}
	return ns
}

func observed(ns []int64) *counter.HistogramSnapshot {
	var h counter.Histogram
	for _, d := range ns {
		h.Observe(d)
	}
	s := h.Snapshot()
	return &s
}

// encoded is the histogram of a snapshot as it is written.
func encoded(t *testing.T, s *counter.HistogramSnapshot) *dto.Histogram {
	t.Helper()
	var out dto.Metric
	testenv.OK(t, newHistogram(prometheus.NewDesc("x", "x", nil, nil), *s).Write(&out))
	return out.Histogram
}

// TestNativeBuckets: each bucket has its number and its count.
func TestNativeBuckets(t *testing.T) {
	s := observed(durations(rand.New(rand.NewPCG(1, 2)), 3000))
	got := native(encoded(t, s))
	for i, n := range s.Buckets {
		testenv.Equal(t, got[counter.FirstBucket+i], int64(n), "bucket", i)
	}
}

// TestClassicBucketsAreExact: at each bound the classic half has what was not
// longer, counted one by one.
func TestClassicBucketsAreExact(t *testing.T) {
	ns := durations(rand.New(rand.NewPCG(3, 4)), 5000)
	h := encoded(t, observed(ns))
	if len(h.Bucket) != 13 || h.Bucket[0].GetUpperBound() != 1./(1<<20) ||
		h.Bucket[12].GetUpperBound() != 16 {
		t.Fatalf("bounds %v", h.Bucket)
	}
	for i, b := range h.Bucket {
		if i > 0 && b.GetUpperBound() != 4*h.Bucket[i-1].GetUpperBound() {
			t.Errorf("bound %d is %g", i, b.GetUpperBound())
		}
		want := uint64(0)
		for _, d := range ns {
			if float64(d)*1e-9 <= b.GetUpperBound() {
				want++
			}
		}
		testenv.Equal(t, b.GetCumulativeCount(), want, "at most", b.GetUpperBound(), "s")
	}
	testenv.Equal(t, h.GetSampleCount(), uint64(len(ns)), "observations of", len(ns))
}

// TestCountIsWhatTheBucketsHold: Prometheus refuses a native histogram whose
// count is another.
func TestCountIsWhatTheBucketsHold(t *testing.T) {
	s := observed([]int64{1, 1000, 1000_000})
	s.Count += 5
	testenv.Equal(t, encoded(t, s).GetSampleCount(), 3, "the count of three observations")
}

// TestNothingObserved: a histogram without observations is native and classic
// all the same, and an empty bucket list is no panic.
func TestNothingObserved(t *testing.T) {
	for _, s := range []*counter.HistogramSnapshot{observed(nil), {}} {
		h := encoded(t, s)
		if h.GetSampleCount() != 0 || h.GetZeroThreshold() <= 0 || h.GetSchema() != 2 ||
			len(h.Bucket) != 13 {
			t.Errorf("%v", h)
		}
	}
}
