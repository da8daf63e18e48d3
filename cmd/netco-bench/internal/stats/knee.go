package stats

// The rule of the knee. It needs no model of the server: a rate is past the
// knee when waiting for the server, rather than its work, makes up most of the
// latency.
const (
	// KneeFactor is how many times the p99 of the lowest rate a rate within the
	// knee may have.
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

// Within says whether s is below the knee of a sweep whose lowest rate had the
// p99 base. factor is KneeFactor or another.
func (s Step) Within(base, factor float64) bool {
	return s.P99 <= factor*base && s.Answered >= KeptUp*s.Intended && s.Failed <= ErrorShare
}

// Why says what puts s past the knee, empty if nothing does.
func (s Step) Why(base, factor float64) string {
	switch {
	case s.Within(base, factor):
		return ""
	case s.Answered < KeptUp*s.Intended:
		return "did not keep up"
	case s.Failed > ErrorShare:
		return "requests failed"
	}
	return "latency turned up"
}

// Knee returns the index of the highest step before the first one past the
// knee, or -1 if the first itself is past it, by rate that was not kept up or
// by errors. steps are in order of their rates.
func Knee(steps []Step, factor float64) int {
	for i, s := range steps {
		if !s.Within(steps[0].P99, factor) {
			return i - 1
		}
	}
	return len(steps) - 1
}
