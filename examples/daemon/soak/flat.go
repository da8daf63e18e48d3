package main

import (
	"fmt"
	"slices"
	"time"
)

// Memory is flat if it does not grow between two windows. The first minute is
// left out, or the first third of a run that is shorter than three minutes:
// pools and the heap find their sizes. What is left is cut in three, and the
// median of the last part is held against that of the first. Medians, because a
// profile, a trace or a page of stacks makes a hump of a second or two; the
// middle part is left out so that a slow growth has time to show. In a short
// run a third is a few seconds, in which the collector's rhythm alone makes
// more than 5 %, so it is allowed more.
const (
	warmUp     = time.Minute
	flatLong   = 0.05
	flatShort  = 0.25
	longEnough = 2 * time.Minute
)

type flatness struct {
	early, late float64
	growth      float64 // 0.05 is 5 %
	allowed     float64
}

// flat compares the windows of what one column of samples says.
func flat(samples []sample, of func(sample) float64) (flatness, error) {
	var length time.Duration
	if len(samples) > 0 {
		length = samples[len(samples)-1].at
	}
	skip := min(warmUp, length/3)
	var rest []float64
	for _, s := range samples {
		if s.at >= skip {
			rest = append(rest, of(s))
		}
	}
	third := len(rest) / 3
	if third < 3 {
		return flatness{}, fmt.Errorf("%d samples after %v are too few to tell anything",
			len(rest), skip)
	}
	f := flatness{early: median(rest[:third]), late: median(rest[len(rest)-third:]),
		allowed: flatLong}
	if length < longEnough {
		f.allowed = flatShort
	}
	f.growth = f.late/f.early - 1
	return f, nil
}

func (f flatness) ok() bool { return f.growth <= f.allowed }

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
