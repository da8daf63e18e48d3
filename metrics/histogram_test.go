package metrics

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

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

// TestNativeIsAsClientGolangMakesIt compares the native half with what the
// library makes of the same buckets.
func TestNativeIsAsClientGolangMakesIt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	desc := prometheus.NewDesc("x", "x", nil, nil)
	for _, n := range []int{0, 9, 12, 40, 3000} {
		s := observed(durations(r, n)[:n])
		buckets := map[int]int64{}
		for i, c := range s.Buckets {
			if c > 0 {
				buckets[counter.FirstBucket+i] = int64(c)
			}
		}
		m := testenv.Must(prometheus.NewConstNativeHistogram(desc, s.Count, float64(s.SumNs)/1e9,
			buckets, nil, s.Zero, counter.HistogramSchema, counter.HistogramZero, time.Time{}))
		var out dto.Metric
		testenv.OK(t, m.Write(&out))
		want, got := out.Histogram, encode(s)
		if got.GetSampleCount() != want.GetSampleCount() ||
			got.GetSampleSum() != want.GetSampleSum() || got.GetSchema() != want.GetSchema() ||
			got.GetZeroThreshold() != want.GetZeroThreshold() ||
			got.GetZeroCount() != want.GetZeroCount() || !reflect.DeepEqual(got.PositiveDelta,
			want.PositiveDelta) || !sameSpans(got.PositiveSpan, want.PositiveSpan) {
			t.Errorf("of %d durations:\n%v, want\n%v", n, got, want)
		}
		if !reflect.DeepEqual(positive(native(got)), buckets) {
			t.Errorf("of %d durations: decoded to %v, want %v", n, native(got), buckets)
		}
	}
}

func sameSpans(a, b []*dto.BucketSpan) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].GetOffset() != b[i].GetOffset() || a[i].GetLength() != b[i].GetLength() {
			return false
		}
	}
	return true
}

func positive(buckets map[int]int64) map[int]int64 {
	for i, n := range buckets {
		if n == 0 {
			delete(buckets, i)
		}
	}
	return buckets
}

// TestClassicBucketsAreExact: at each bound the classic half has what was not
// longer, counted one by one.
func TestClassicBucketsAreExact(t *testing.T) {
	ns := durations(rand.New(rand.NewPCG(3, 4)), 5000)
	h := encode(observed(ns))
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
	testenv.Equal(t, encode(s).GetSampleCount(), 3, "the count of three observations")
}

// TestNothingObserved: a histogram without observations is native and classic
// all the same, and an empty bucket list is no panic.
func TestNothingObserved(t *testing.T) {
	for _, s := range []*counter.HistogramSnapshot{observed(nil), {}} {
		h := encode(s)
		if h.GetSampleCount() != 0 || h.GetZeroThreshold() <= 0 || h.GetSchema() != 2 ||
			len(h.Bucket) != 13 {
			t.Errorf("%v", h)
		}
	}
}
