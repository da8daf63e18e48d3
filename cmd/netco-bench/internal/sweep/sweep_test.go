package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/testenv"
)

// fake is a server of one queue: it answers up to its capacity, with a latency
// that grows as the load nears it.
type fake struct {
	capacity float64
	closed   float64 // what the closed loop finds of it
	stall    int     // the number of a measurement that a stall of the machine spoils
	fail     int     // the number of one that fails
	fails    float64 // the rate from which on requests fail
	rates    []float64
}

var errGone = errors.New("gone")

func (f *fake) load(_ context.Context, rate float64) (*result.Result, error) {
	f.rates = append(f.rates, rate)
	if len(f.rates) == f.fail {
		return nil, errGone
	}
	r := result.New()
	r.Elapsed = result.Duration(time.Second)
	answered, latency := min(rate, f.capacity), 1e5/max(0.001, 1-rate/f.capacity)
	if rate == 0 {
		answered, latency = f.closed, 1e6
	}
	if len(f.rates) == f.stall {
		latency *= 100
	}
	if f.fails > 0 && rate > f.fails {
		r.Totals.Errors.Timeout = uint64(answered) / 10
	}
	r.Totals.Requests = uint64(math.Round(answered))
	r.Response.Record(int64(latency))
	return r, nil
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		server     fake
		options    Options
		knee, past float64
		why        string
		runs       int
	}{
		// 1/(1-x) is 5 times that of a tenth at x = 0.82.
		"a knee": {fake{capacity: 1000, closed: 1000}, Options{}, 800, 900,
			"latency turned up", 1 + 8 + 2},
		"halved twice": {fake{capacity: 1000, closed: 1000}, Options{Halve: 2}, 800, 825,
			"latency turned up", 1 + 8 + 2 + 2 + 2},
		"an early one": {fake{capacity: 1000, closed: 1000}, Options{Factor: 2}, 500, 600,
			"latency turned up", 1 + 5 + 2},
		"past the capacity": {fake{capacity: 1000, closed: 500}, Options{}, 800, 850,
			"latency turned up", 1 + 16 + 2},
		"never": {fake{capacity: 1e9, closed: 100}, Options{}, 200, 0, "", 1 + 20},
		"falls behind": {fake{capacity: 1000, closed: 1e4}, Options{}, 1000, 2000,
			"did not keep up", 1 + 1 + 2},
		"a stall": {fake{capacity: 1000, closed: 1000, stall: 4}, Options{}, 800, 900,
			"latency turned up", 1 + 8 + 1 + 2},
		"errors": {fake{capacity: 1000, closed: 1000, fails: 350}, Options{}, 300, 400,
			"requests failed", 1 + 3 + 2},
		"errors at once": {fake{capacity: 1000, closed: 1000, fails: 50}, Options{Halve: 3}, 0, 100,
			"requests failed", 1 + 2},
	} {
		s, err := Run(t.Context(), "x", c.server.load, c.options)
		if err != nil || s.Knee != c.knee || s.Past != c.past || s.Why != c.why ||
			len(c.server.rates) != c.runs {
			t.Errorf("%s: %v, knee %v, past %v %q after %v", name, err, s.Knee, s.Past, s.Why,
				c.server.rates)
		}
	}
}

// TestKnee: the rule, at its limits.
func TestKnee(t *testing.T) {
	step := func(rate, answered, failed uint64, p99 int64) Step {
		r := result.New()
		r.Elapsed = result.Duration(time.Second)
		r.Totals.Requests, r.Totals.Errors.Timeout = answered, failed
		r.Response.Record(p99)
		return Step{float64(rate), r}
	}
	ok := func(rate uint64, p99 int64) Step { return step(rate, rate, 0, p99) }
	for name, c := range map[string]struct {
		steps  []Step
		factor float64
		want   int
		why    string // of the step after the knee
	}{
		"none": {nil, 5, -1, ""},
		"flat": {[]Step{ok(1, 10), ok(2, 11), ok(3, 12)}, 5, 2, ""},
		"turns up": {[]Step{ok(1, 10), ok(2, 20), ok(3, 51), ok(4, 10)}, 5, 1,
			"latency turned up"},
		"a noisy start": {[]Step{ok(1, 100), ok(2, 10), ok(3, 49), ok(4, 51)}, 5, 2,
			"latency turned up"},
		"at the limit":    {[]Step{ok(1, 10), ok(2, 50)}, 5, 1, ""},
		"another factor":  {[]Step{ok(1, 10), ok(2, 21)}, 2, 0, "latency turned up"},
		"falls behind":    {[]Step{ok(1, 10), step(20, 19, 0, 10)}, 5, 0, "did not keep up"},
		"fails":           {[]Step{ok(1, 10), step(98, 98, 2, 10)}, 5, 0, "requests failed"},
		"fails at first":  {[]Step{step(1, 0, 1, 0), ok(2, 10)}, 5, -1, "did not keep up"},
		"a few may fail":  {[]Step{ok(1, 10), step(99, 99, 1, 10)}, 5, 1, ""},
		"almost keeps up": {[]Step{ok(1, 10), step(100, 98, 0, 10)}, 5, 1, ""},
	} {
		s := &Sweep{Steps: c.steps, Factor: c.factor}
		got, why := s.knee(), ""
		if got+1 < len(c.steps) {
			why = s.why(got + 1)
		}
		if got != c.want || why != c.why {
			t.Errorf("%s: knee at %d, %q, want %d, %q", name, got, why, c.want, c.why)
		}
	}
}

// TestRunEnds: what was measured before a failure stays.
func TestRunEnds(t *testing.T) {
	server := fake{capacity: 1000, closed: 1000, fail: 4}
	s, err := Run(t.Context(), "x", server.load, Options{})
	if !errors.Is(err, errGone) || !strings.Contains(err.Error(), "at 300 requests per second") {
		t.Errorf("error %v", err)
	}
	if len(s.Steps) != 2 || s.Knee != 200 {
		t.Errorf("%d steps, knee %v", len(s.Steps), s.Knee)
	}
	for name, server := range map[string]fake{"no closed loop": {fail: 1},
		"no capacity": {closed: 3}} {
		if s, err := Run(t.Context(), "x", server.load, Options{}); err == nil ||
			len(s.Steps) != 0 {
			t.Errorf("%s: %v, %d steps", name, err, len(s.Steps))
		}
	}
}

func TestFile(t *testing.T) {
	server := fake{capacity: 1000, closed: 1000}
	s, err := Run(t.Context(), "x", server.load, Options{})
	testenv.OK(t, err)
	text, err := json.Marshal(s)
	testenv.OK(t, err)
	back, err := result.Decode[Sweep](text, Kind, Schema)
	testenv.OK(t, err)
	var b strings.Builder
	back.Print(&b)
	for _, want := range []string{"  900  ", "latency turned up\n",
		"The knee is at 800 requests/s, 80 % of the closed loop's 1,000; at 900: latency turned " +
			"up.\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	back.Markdown(&b)
	for _, want := range []string{"times: x\n\n| rate | of capacity |", "\n| 900 | 90 % |",
		"| latency turned up |\n\nThe knee is at 800 requests/s"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if _, err := result.Decode[Sweep]([]byte(`{"kind":"other"}`), Kind, Schema); err == nil {
		t.Error("another kind: no error")
	}
}
