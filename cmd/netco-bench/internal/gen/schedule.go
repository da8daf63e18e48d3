package gen

import (
	"math"
	"math/rand/v2"
)

// schedule is the intended times of one worker's requests in an open loop, in
// order, computed one by one. Whichever connection is free takes the next.
//
// Times are found by inverting the expected number of requests by a time: a
// uniform schedule has one request each time that number passes an integer, a
// Poisson process has exponential distances there. So a ramp changes neither.
type schedule struct {
	from, to float64 // requests per ns at the start, and after the ramp
	ramp     float64 // ns
	count    float64 // expected number at the last request
	poisson  *rand.Rand
}

// newSchedule returns the part-th of parts schedules that share rates, which
// are in requests per second, between them. ramp is in ns.
func newSchedule(from, to, ramp float64, poisson bool, seed uint64, part, parts int) *schedule {
	scale := 1e-9 / float64(parts)
	s := &schedule{from: from * scale, to: to * scale, ramp: ramp}
	if poisson {
		s.poisson = rand.New(rand.NewPCG(seed, uint64(part)))
	} else {
		s.count = float64(part)/float64(parts) - 1 // parts take turns
	}
	return s
}

// next returns the next intended time in ns since the start.
func (s *schedule) next() int64 {
	if s.poisson != nil {
		s.count += s.poisson.ExpFloat64()
	} else {
		s.count++
	}
	return int64(s.at(s.count) + 0.5)
}

// at returns the time by which n requests are expected.
func (s *schedule) at(n float64) float64 {
	during := (s.from + s.to) / 2 * s.ramp // in the whole ramp
	if n >= during {
		return s.ramp + (n-during)/s.to
	}
	slope := (s.to - s.from) / s.ramp
	// from t + slope/2 t² = n, in the form that also holds for a slope of 0.
	return 2 * n / (s.from + math.Sqrt(s.from*s.from+2*slope*n))
}
