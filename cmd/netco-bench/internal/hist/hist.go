// Package hist is a latency histogram with logarithmic buckets: a fixed array,
// nothing allocated and no search when recording, values within 1 %.
//
// Each power of two is cut into 64 equal buckets, as in HdrHistogram. A bucket
// is at most 1/64 of its value wide, so its middle is off by less than 0.8 %.
// Values below 128 are exact.
//
// HdrHistogram, which package result has for what is written to files, takes
// twice as long to record a value: 16 ns where this takes 8.
package hist

import "math/bits"

const (
	subBits    = 6
	subBuckets = 1 << subBits
	// maxBits bounds values to 2^40 ns, 18 minutes; larger ones count as that.
	maxBits  = 40
	maxValue = 1<<maxBits - 1
	buckets  = (maxBits-subBits-1)*subBuckets + 2*subBuckets
)

// Histogram counts nanosecond values. The zero value is empty and ready. It has
// one writer; merge histograms of several writers when they are done.
type Histogram struct {
	counts [buckets]uint64
}

// Record counts one value. Negative values count as 0.
func (h *Histogram) Record(ns int64) {
	h.counts[index(min(max(ns, 0), maxValue))]++
}

// Reset empties h.
func (h *Histogram) Reset() { *h = Histogram{} }

// Merge adds the counts of o to h.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
}

// Count returns how many values were recorded.
func (h *Histogram) Count() uint64 {
	var sum uint64
	for _, n := range h.counts {
		sum += n
	}
	return sum
}

// Quantile returns the value that a share q (0 to 1) of the values do not
// exceed, in ns: the middle of the bucket it falls in. It is 0 when h is empty.
func (h *Histogram) Quantile(q float64) int64 {
	total := h.Count()
	if total == 0 {
		return 0
	}
	// The rank of the value sought, 1 to total, rounded up.
	exact := q * float64(total)
	rank := uint64(exact)
	if float64(rank) < exact {
		rank++
	}
	rank = min(max(rank, 1), total)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return middle(i)
		}
	}
	panic("hist: counts changed while read")
}

// Max returns the middle of the highest bucket in use, in ns.
func (h *Histogram) Max() int64 { return h.Quantile(1) }

// index returns the bucket of v, which is 0 to maxValue.
//
// The top subBits+1 bits of v pick it: v>>shift is in [subBuckets,
// 2*subBuckets) for all but the smallest values, so consecutive shifts fill
// consecutive rows.
func index(v int64) int {
	shift := bits.Len64(uint64(v)|(subBuckets-1)) - subBits - 1
	if shift < 0 {
		shift = 0
	}
	return shift<<subBits + int(v>>shift)
}

// bounds returns the values [low, low+width) that share bucket i.
func bounds(i int) (low, width int64) {
	if i < 2*subBuckets {
		return int64(i), 1
	}
	shift := i>>subBits - 1
	return int64(i-shift<<subBits) << shift, 1 << shift
}

func middle(i int) int64 {
	low, width := bounds(i)
	return low + width/2
}
