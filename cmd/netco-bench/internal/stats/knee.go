package stats

import "math"

// The rule of the knee. It needs no model of the server: a rate is past the
// knee when waiting for the server, rather than its work, makes up most of the
// latency.
const (
	// KneeFactor is how many times the lowest p99 of all lower rates a rate
	// within the knee may have. Of all, since noise of the machine only adds:
	// a first step that has met with some would hide any knee.
	KneeFactor = 5
	// KeptUp is the part of the intended rate that must be answered.
	KeptUp = 0.98
	// ErrorShare is the part of the requests that may fail.
	ErrorShare = 0.01
)

// A Step is one rate of a sweep.
type Step struct {
	Intended, Answered float64 // requests a second
	P99                float64 // from the intended times, any unit
	Failed             float64 // the part of the requests that failed
}

// why says what puts s past the knee, empty if nothing does. base is the lowest
// p99 of the lower rates.
func (s Step) why(base, factor float64) string {
	switch {
	case s.Answered < KeptUp*s.Intended:
		return "did not keep up"
	case s.Failed > ErrorShare:
		return "requests failed"
	case s.P99 > factor*base:
		return "latency turned up"
	}
	return ""
}

// Judge says of each step what puts it past the knee, empty where nothing does.
// steps are in order of their rates. factor is KneeFactor or another.
func Judge(steps []Step, factor float64) (why []string) {
	base := math.Inf(1)
	for _, s := range steps {
		why = append(why, s.why(base, factor))
		base = min(base, s.P99)
	}
	return why
}

// Knee returns the index of the last step before the first one past the knee,
// or -1 if that is the first of all.
func Knee(steps []Step, factor float64) int {
	for i, why := range Judge(steps, factor) {
		if why != "" {
			return i - 1
		}
	}
	return len(steps) - 1
}
