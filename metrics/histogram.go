package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco/internal/counter"
)

// Classic buckets end at powers of four, 4^classicFirst to 4^classicLast
// seconds: 0.95 µs to 16 s. Each is a bound of a native bucket too, so a
// classic bucket is an exact sum of native buckets.
const (
	classicFirst  = -10
	classicLast   = 2
	perClassic    = 2 << counter.HistogramSchema // native buckets in one: two powers of two
	classicBounds = classicLast - classicFirst + 1
)

// histogram is a native histogram of client_golang's with classic buckets.
type histogram struct {
	prometheus.Metric
	classic []*dto.Bucket
}

// newHistogram makes a histogram of both kinds. The number of observations is
// the sum of the buckets, as Prometheus demands, even if an observation is
// counted while newHistogram reads.
func newHistogram(desc *prometheus.Desc, s counter.HistogramSnapshot,
	labels ...string) histogram {
	total, native := s.Zero, map[int]int64{}
	for i, n := range s.Buckets {
		if total += n; n > 0 {
			native[counter.FirstBucket+i] = int64(n)
		}
	}
	return histogram{prometheus.MustNewConstNativeHistogram(desc, total, float64(s.SumNs)/1e9,
		native, nil, s.Zero, counter.HistogramSchema, counter.HistogramZero, time.Time{},
		labels...), classic(&s)}
}

// Write implements prometheus.Metric.
func (h histogram) Write(out *dto.Metric) error {
	err := h.Metric.Write(out)
	out.Histogram.Bucket, out.Histogram.CreatedTimestamp = h.classic, nil
	return err
}

// classic returns the classic buckets, as sums of native buckets. The encoder
// adds the last bucket, infinity.
func classic(s *counter.HistogramSnapshot) []*dto.Bucket {
	sum, next := s.Zero, 0
	buckets := make([]*dto.Bucket, 0, classicBounds)
	for k := classicFirst; k <= classicLast; k++ {
		for end := k*perClassic - counter.FirstBucket; next <= end &&
			next < len(s.Buckets); next++ {
			sum += s.Buckets[next]
		}
		bound, upTo := math.Ldexp(1, 2*k), sum
		buckets = append(buckets, &dto.Bucket{UpperBound: &bound, CumulativeCount: &upTo})
	}
	return buckets
}
