package metrics

import (
	"math"

	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco/internal/counter"
)

// Classic buckets end at powers of four, 4^classicFirst to 4^classicLast
// seconds: 0.95 µs to 16 s. Each is a bound of the native buckets too, so that
// a classic bucket is an exact sum of native ones.
const (
	classicFirst  = -10
	classicLast   = 2
	perClassic    = 2 << counter.HistogramSchema // native buckets in one: two powers of two
	classicBounds = classicLast - classicFirst + 1
)

// maxGap is the number of empty buckets up to which a span goes on, as in
// client_golang.
const maxGap = 2

// encode makes a histogram of both kinds. The number of observations is the sum
// of the buckets, as Prometheus demands, even if one was counted while they
// were read.
func encode(s *counter.HistogramSnapshot) *dto.Histogram {
	h := &dto.Histogram{
		SampleSum:     ptr(float64(s.SumNs) / 1e9),
		Schema:        ptr[int32](counter.HistogramSchema),
		ZeroThreshold: ptr(counter.HistogramZero),
		ZeroCount:     ptr(s.Zero),
	}
	h.PositiveSpan, h.PositiveDelta = spans(s.Buckets)
	h.Bucket = classic(s)
	total := s.Zero
	for _, n := range s.Buckets {
		total += n
	}
	h.SampleCount = &total
	return h
}

// spans returns the sparse form of native buckets: runs of them, each given by
// its distance from the last run, and the differences of the counts.
func spans(buckets []uint64) (runs []*dto.BucketSpan, deltas []int64) {
	// The bucket that Prometheus numbers 0, then the one after the last run.
	end, last := -counter.FirstBucket, int64(0)
	add := func(n uint64) {
		*runs[len(runs)-1].Length++
		deltas = append(deltas, int64(n)-last)
		last = int64(n)
	}
	for i, n := range buckets {
		if n == 0 {
			continue
		}
		if gap := i - end; len(runs) == 0 || gap > maxGap {
			runs = append(runs, &dto.BucketSpan{Offset: ptr(int32(gap)), Length: ptr[uint32](0)})
		} else {
			for range gap {
				add(0)
			}
		}
		add(n)
		end = i + 1
	}
	return runs, deltas
}

// classic sums the native buckets up. The last bound, infinity, is left to the
// code that encodes it.
func classic(s *counter.HistogramSnapshot) []*dto.Bucket {
	sum, next := s.Zero, 0
	buckets := make([]*dto.Bucket, 0, classicBounds)
	for k := classicFirst; k <= classicLast; k++ {
		for end := k*perClassic - counter.FirstBucket; next <= end &&
			next < len(s.Buckets); next++ {
			sum += s.Buckets[next]
		}
		buckets = append(buckets, &dto.Bucket{UpperBound: ptr(math.Ldexp(1, 2*k)),
			CumulativeCount: ptr(sum)})
	}
	return buckets
}

func ptr[T any](v T) *T { return &v }
