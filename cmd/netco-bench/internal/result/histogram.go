package result

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of all histograms: values are kept to three digits,
// and larger ones than the highest count as that.
const (
	lowest  = 1
	highest = int64(time.Hour)
	digits  = 3
)

// Percentiles are those that are printed, and written beside the counts.
var Percentiles = []float64{50, 90, 99, 99.9, 99.99}

// Histogram is a HdrHistogram of nanoseconds. The zero value is empty and
// ready. It has one writer at a time.
type Histogram struct {
	h   *hdrhistogram.Histogram // nil while empty
	max int64                   // exact
	min int64                   // exact; undefined while empty
}

// Record counts one value, without allocating but for the first. A negative
// value counts as 0.
func (h *Histogram) Record(ns int64) {
	if h.h == nil {
		h.h = hdrhistogram.New(lowest, highest, digits)
	}
	ns = min(max(ns, 0), highest)
	if ns > h.max {
		h.max = ns
	}
	if ns < h.min || h.h.TotalCount() == 0 {
		h.min = ns
	}
	_ = h.h.RecordValue(ns) // it is in range
}

// Merge adds the counts of o to h.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() == 0 {
		return
	}
	if h.h == nil {
		h.h, h.min = hdrhistogram.New(lowest, highest, digits), o.min
	}
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.h.Merge(o.h)
}

// Count is how many values were recorded.
func (h *Histogram) Count() uint64 {
	if h.h == nil {
		return 0
	}
	return uint64(h.h.TotalCount())
}

// At returns the value that percent of the values (0 to 100) do not exceed, or
// 0 when h is empty.
func (h *Histogram) At(percent float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	// A bucket's upper end can lie above all values in it.
	return min(h.h.ValueAtPercentile(percent), h.max)
}

// Max is the largest value, exactly.
func (h *Histogram) Max() int64 { return h.max }

// Mean is the mean of the values.
func (h *Histogram) Mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return h.h.Mean()
}

type percentile struct {
	Percent float64 `json:"percent"`
	Ns      int64   `json:"ns"`
}

// histogramJSON is a histogram in a file. HDR is HdrHistogram's compressed V2
// encoding in base64, which its other implementations read too.
type histogramJSON struct {
	Count       uint64       `json:"count"`
	Min         int64        `json:"min_ns"`
	Mean        float64      `json:"mean_ns"`
	StdDev      float64      `json:"stddev_ns"`
	Max         int64        `json:"max_ns"`
	Percentiles []percentile `json:"percentiles,omitempty"`
	HDR         string       `json:"hdr,omitempty"`
}

// MarshalJSON writes the counts, and the usual percentiles to read.
func (h Histogram) MarshalJSON() ([]byte, error) {
	if h.Count() == 0 {
		return []byte(`{"count":0}`), nil
	}
	hdr, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	j := histogramJSON{Count: h.Count(), Min: h.min, Mean: h.Mean(), StdDev: h.h.StdDev(),
		Max: h.max,
		HDR: string(hdr)}
	for _, p := range Percentiles {
		j.Percentiles = append(j.Percentiles, percentile{p, h.At(p)})
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the counts; it checks them against the number given, and
// computes the percentiles anew.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	*h = Histogram{}
	var j histogramJSON
	if err := json.Unmarshal(b, &j); err != nil || j.Count == 0 {
		return err
	}
	from, err := hdrhistogram.Decode([]byte(j.HDR))
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	if uint64(from.TotalCount()) != j.Count {
		return fmt.Errorf("histogram: %d values, its count is %d", from.TotalCount(), j.Count)
	}
	// One written with another range is brought into ours.
	h.h, h.min, h.max = hdrhistogram.New(lowest, highest, digits), j.Min, j.Max
	if lost := h.h.Merge(from); lost > 0 {
		return fmt.Errorf("histogram: %d values of more than %v", lost, time.Duration(highest))
	}
	return nil
}

// PercentileName writes 99.9 as "p99.9".
func PercentileName(p float64) string { return fmt.Sprintf("p%g", p) }
