package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(b))
}

var nan = math.NaN()

func TestSummarize(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   Summary
	}{
		"none": {nil, Summary{nan, nan, nan, nan, 0}},
		"one":  {[]float64{7}, Summary{7, 7, 7, 0, 1}},
		"odd":  {[]float64{5, 1, 3}, Summary{3, 1, 5, 2. / 3, 3}},
		// R's quantile, type 7: 1.75 and 3.25.
		"even":       {[]float64{4, 1, 3, 2}, Summary{2.5, 1, 4, 1.5 / 2.5, 4}},
		"zeros":      {[]float64{0, 0}, Summary{0, 0, 0, nan, 2}},
		"an outlier": {[]float64{10, 10, 10, 10, 1000}, Summary{10, 10, 1000, 0, 5}},
	} {
		got := Summarize(c.values)
		if !near(got.Median, c.want.Median) || !near(got.Min, c.want.Min) ||
			!near(got.Max, c.want.Max) ||
			!near(got.Spread, c.want.Spread) || got.Rounds != c.want.Rounds {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	s := []float64{1, 2, 3, 4, 5} // as R's quantile(1:5, q) and numpy's percentile
	for q, want := range map[float64]float64{0: 1, 0.1: 1.4, 0.25: 2, 0.5: 3, 0.99: 4.96, 1: 5} {
		if got := Quantile(s, q); !near(got, want) {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of none: %v", got)
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		a, b      []float64
		median    float64
		low, high float64
		pairs     int
	}{
		"none":    {nil, nil, nan, nan, nan, 0},
		"too few": {[]float64{2, 2, 2}, []float64{1, 1, 1}, 2, nan, nan, 3},
		"twice":   {[]float64{2, 4, 6, 8, 10, 12}, []float64{1, 2, 3, 4, 5, 6}, 2, 2, 2, 6},
		"half": {[]float64{1, 2, 3, 4, 5, 6}, []float64{2, 4, 6, 8, 10, 12}, .5, .5, .5,
			6},
		"same":      {[]float64{3, 3, 3, 3, 3, 3}, []float64{3, 3, 3, 3, 3, 3}, 1, 1, 1, 6},
		"both zero": {make([]float64, 6), make([]float64, 6), 1, 1, 1, 6},
		"over zero": {[]float64{1, 1, 1, 1, 1, 1}, make([]float64, 6), nan, nan, nan, 0},
		"missing": {[]float64{nan, 2, 2, 2, 2, 2, 2}, []float64{1, 1, 1, 1, 1, 1, 1}, 2, 2, 2,
			6},
		"unequal sides": {[]float64{2, 2, 2, 2, 2, 2, 9}, []float64{1, 1, 1, 1, 1, 1}, 2, 2, 2, 6},
		// The extremes of six have more than 2.5 % of the medians between them
		// and the next ones, so the interval's ends are means of two ratios.
		"either way": {[]float64{.8, .9, 1, 1, 1.1, 1.2}, []float64{1, 1, 1, 1, 1, 1}, 1, .85, 1.15,
			6},
	} {
		got := Compare(c.a, c.b)
		if !near(got.Median, c.median) || !near(got.Low, c.low) || !near(got.High, c.high) ||
			got.Pairs != c.pairs {
			t.Errorf("%s: %+v, want %+v", name, got, c)
		}
		if again := Compare(c.a, c.b); !near(again.Low, got.Low) || !near(again.High, got.High) {
			t.Errorf("%s: %+v, then %+v", name, got, again)
		}
	}
}

// TestCoverage draws rounds of a known ratio: intervals hold it about as often
// as they promise, whether it is 1 or not.
func TestCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, ratio := range []float64{1, 1.2} {
		const trials, rounds = 100, 12
		holds := 0
		for range trials {
			a, b := make([]float64, rounds), make([]float64, rounds)
			for i := range a {
				drift := 1 + 0.5*float64(i) // hits both sides alike
				a[i] = ratio * drift * math.Exp(0.05*random.NormFloat64())
				b[i] = drift * math.Exp(0.05*random.NormFloat64())
			}
			if r := Compare(a, b); r.Low <= ratio && ratio <= r.High {
				holds++
			}
		}
		if share := float64(holds) / trials; share < 0.88 {
			t.Errorf("%v: %.2f of the intervals hold it", ratio, share)
		}
	}
}
