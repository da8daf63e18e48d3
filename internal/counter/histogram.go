package counter

import "math"

// Histogram counts durations in buckets whose bounds grow exponentially, four
// to each power of two of a second: the buckets of a Prometheus native
// histogram of schema 2. Bucket i counts durations longer than 2^((i-1)/4) s
// and not longer than 2^(i/4) s. One thread observes, which costs it two
// ordinary adds and some arithmetic; any thread reads. The zero value is ready.
type Histogram struct {
	sum     Counter
	zero    Counter // of no more than 2^-23 s
	buckets [lastBucket - FirstBucket + 1]Counter
}

const (
	HistogramSchema = 2   // as Prometheus has it: the bounds grow by 2^(2^-2)
	FirstBucket     = -91 // the index of the first bucket, which begins at 2^-23 s, 119 ns
	lastBucket      = 40  // ends at 2^10 s; it counts longer durations, too

	// HistogramZero is the longest duration that counts as zero, in seconds.
	HistogramZero = 1.0 / (1 << 23)
)

// HistogramSnapshot is the content of a Histogram at some moment.
type HistogramSnapshot struct {
	Count   uint64
	SumNs   uint64
	Zero    uint64   // observations of at most HistogramZero
	Buckets []uint64 // index i is bucket FirstBucket+i
}

// The largest mantissas of the first, second and third bucket of a power of
// two.
const mantissa = 1<<52 - 1

var (
	quarter  = math.Float64bits(math.Exp2(0.25)) & mantissa
	half     = math.Float64bits(math.Sqrt2) & mantissa
	quarter3 = math.Float64bits(math.Exp2(0.75)) & mantissa
)

// Observe counts a duration; a negative one is 0. Owner only.
func (h *Histogram) Observe(ns int64) { h.ObserveN(ns, 1) }

// ObserveN counts n durations of the same length. Owner only.
func (h *Histogram) ObserveN(ns int64, n uint64) {
	ns = max(ns, 0)
	h.sum.Add(uint64(ns) * n)
	i := bucketOf(ns)
	if i < FirstBucket {
		h.zero.Add(n)
		return
	}
	h.buckets[min(i, lastBucket)-FirstBucket].Add(n)
}

// Sum returns the sum of all durations, in ns. Any thread.
func (h *Histogram) Sum() uint64 { return h.sum.Load() }

// bucketOf returns the smallest i such that ns is at most 2^(i/4) s.
func bucketOf(ns int64) int {
	b := math.Float64bits(float64(ns) * 1e-9)
	i := 4 * (int(b>>52) - 1023)
	switch m := b & mantissa; {
	case m == 0:
		return i
	case m <= quarter:
		return i + 1
	case m <= half:
		return i + 2
	case m <= quarter3:
		return i + 3
	}
	return i + 4
}

// Snapshot returns the observations so far. Any thread may call it. An
// observation under way may be in the sum and not in a bucket; each figure only
// rises from one snapshot to the next.
func (h *Histogram) Snapshot() HistogramSnapshot {
	s := HistogramSnapshot{SumNs: h.sum.Load(), Zero: h.zero.Load(),
		Buckets: make([]uint64, len(h.buckets))}
	s.Count = s.Zero
	for i := range h.buckets {
		s.Buckets[i] = h.buckets[i].Load()
		s.Count += s.Buckets[i]
	}
	return s
}
