// Package stats says what rounds of a measurement show: their median, their
// spread, and whether two sides that ran in pairs differ.
//
// Rounds are few and their errors are not normal: one round in ten is slow
// because the machine did something else. So the figures are medians, and what
// is compared is the ratio within each pair of rounds, which a slow drift of
// the machine hits on both sides. The interval of that ratio is a percentile
// bootstrap over the pairs, from a fixed seed, so that a report made twice from
// the same rounds says the same.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// MinPairs is the fewest pairs that have an interval. The interval cannot
	// be wider than the range of the ratios, which holds the true median with a
	// probability of 1 - 2^(1-n): 0.97 of 6 pairs, but 0.94 of 5.
	MinPairs = 6
	// Confidence is the part of intervals that hold the true ratio.
	Confidence = 0.95

	resamples = 10_000
	seed      = 13
)

// Median returns the middle of values, NaN of none.
func Median(values []float64) float64 {
	return medianSorted(slices.Sorted(slices.Values(values)))
}

func medianSorted(s []float64) float64 {
	n := len(s)
	if n == 0 {
		return math.NaN()
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Quantile returns the value below which a share q of sorted values lies, by
// linear interpolation between neighbours, NaN of none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// A Summary is what the rounds of one side gave.
type Summary struct {
	Median, Min, Max float64
	// Spread is the distance between the quartiles, as a part of the median.
	Spread float64
	Rounds int
}

// Summarize returns the summary of values. Its figures are NaN of none.
func Summarize(values []float64) Summary {
	s := slices.Sorted(slices.Values(values))
	m := Summary{Median: medianSorted(s), Min: Quantile(s, 0), Max: Quantile(s, 1), Rounds: len(s)}
	m.Spread = (Quantile(s, 0.75) - Quantile(s, 0.25)) / m.Median
	if m.Median == 0 {
		m.Spread = math.NaN()
	}
	return m
}

// A Ratio compares two sides over their pairs of rounds.
type Ratio struct {
	// Median is of the ratios within the pairs, first side over second. It is
	// NaN if no pair has a ratio.
	Median float64
	// Low and High bound the interval, NaN of fewer pairs than MinPairs.
	Low, High float64
	Pairs     int // those that have a ratio
}

// Compare returns the ratio of a to b, which hold one value per pair of rounds
// in the same order. A pair in which a value is missing (NaN), or b is zero,
// has no ratio, and is left out; one in which both are zero has ratio 1.
func Compare(a, b []float64) Ratio {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		switch r := a[i] / b[i]; {
		case a[i] == 0 && b[i] == 0:
			ratios = append(ratios, 1)
		case !math.IsNaN(r) && !math.IsInf(r, 0):
			ratios = append(ratios, r)
		}
	}
	r := Ratio{Median: Median(ratios), Low: math.NaN(), High: math.NaN(), Pairs: len(ratios)}
	if r.Pairs >= MinPairs {
		r.Low, r.High = bootstrap(ratios)
	}
	return r
}

// bootstrap returns the interval that a share Confidence of the medians of
// samples drawn from values with replacement fall in.
func bootstrap(values []float64) (low, high float64) {
	random := rand.New(rand.NewPCG(seed, uint64(len(values))))
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[random.IntN(len(values))]
		}
		slices.Sort(sample)
		medians[i] = medianSorted(sample)
	}
	slices.Sort(medians)
	const tail = (1 - Confidence) / 2
	return Quantile(medians, tail), Quantile(medians, 1-tail)
}
