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

	packed string // what h is made from when it is needed, while h is nil
	count  uint64 // of what is packed
}

// Pack keeps h in some hundred bytes. Any use of the counts unpacks it.
func (h *Histogram) Pack() {
	if h.packed != "" || h.Count() == 0 {
		return
	}
	if b, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		h.h, h.packed, h.count = nil, string(b), uint64(h.h.TotalCount())
	}
}

// unpack makes h.h.
func (h *Histogram) unpack() {
	if h.packed != "" {
		full, _ := decode(h.packed, 0) // it was decoded or encoded before
		h.h, h.packed = full, ""
	}
	if h.h == nil {
		h.h = hdrhistogram.New(lowest, highest, digits)
	}
}

// decode reads an encoded histogram of count values, 0 for any number.
func decode(encoded string, count uint64) (*hdrhistogram.Histogram, error) {
	from, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	if count > 0 && uint64(from.TotalCount()) != count {
		return nil, fmt.Errorf("histogram: %d values, its count is %d", from.TotalCount(), count)
	}
	// One written with another range is brought into ours.
	h := hdrhistogram.New(lowest, highest, digits)
	if lost := h.Merge(from); lost > 0 {
		return nil, fmt.Errorf("histogram: %d values of more than %v", lost, time.Duration(highest))
	}
	return h, nil
}

// Record counts one value, without allocating but for the first. A negative
// value counts as 0.
func (h *Histogram) Record(ns int64) {
	if h.h == nil {
		h.unpack()
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

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	if h.h != nil {
		h.h.Reset()
	}
	h.min, h.max, h.packed = 0, 0, ""
}

// Merge adds the counts of o to h.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() == 0 {
		return
	}
	if h.Count() == 0 {
		h.min = o.min
	}
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.unpack()
	from := *o // stays packed
	from.unpack()
	h.h.Merge(from.h)
}

// Clone returns an independent copy.
func (h *Histogram) Clone() Histogram {
	var c Histogram
	c.Merge(h)
	return c
}

// Count is how many values were recorded.
func (h *Histogram) Count() uint64 {
	if h.packed != "" {
		return h.count
	}
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
	h.unpack()
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
	h.unpack()
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
	h.unpack()
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
	full, err := decode(j.HDR, j.Count)
	if err != nil {
		return err
	}
	h.h = full
	h.min, h.max = j.Min, j.Max
	h.Pack() // a file has one for each second
	return nil
}

// PercentileName writes 99.9 as "p99.9".
func PercentileName(p float64) string { return fmt.Sprintf("p%g", p) }
