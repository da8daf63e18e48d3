package figure

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		write func(float64) string
		value float64
		want  string
	}{
		"nothing":          {Latency, 0, "0"},
		"missing":          {Latency, math.NaN(), "–"},
		"nanoseconds":      {Latency, 12, "12 ns"},
		"below one":        {Latency, 0.25, "0.25 ns"},
		"three digits":     {Latency, 12345, "12.3 µs"},
		"no zeros at end":  {Latency, 1_200_000, "1.2 ms"},
		"almost a unit":    {Latency, 999_999, "1 ms"},
		"a whole unit":     {Latency, 1e9, "1 s"},
		"many of the last": {Latency, 12345e9, "12,345 s"},
		"bytes":            {Bytes, 3 << 20, "3 MiB"},
		"a rate":           {Rate, 1234567.8, "1,234,568"},
		"a small rate":     {Rate, 0.0123, "0.0123"},
		"a count":          {Count, 100, "100"},
		"a negative one":   {Count, -1234, "-1,234"},
		"a share":          {Share, 0.012345, "1.23 %"},
		"no share":         {Share, math.NaN(), "–"},
		"a ratio":          {Ratio, 1.049, "1.05"},
		"no ratio":         {Ratio, math.Inf(1), "–"},
	} {
		if got := c.write(c.value); got != c.want {
			t.Errorf("%s: %v is %q, want %q", name, c.value, got, c.want)
		}
	}
}

func TestFigures(t *testing.T) {
	empty, full := result.New(), result.New()
	full.Elapsed = result.Duration(2 * time.Second)
	full.Totals.Requests, full.Totals.Errors.Timeout = 90, 10
	for i := range int64(100) {
		full.Response.Record((i + 1) * 1000)
	}
	full.Server = &result.Server{User: result.Duration(90 * time.Microsecond), RSSMax: 1 << 20,
		Voluntary: 40, Involuntary: 5}
	full.Classes = []result.Class{{Name: "1µs"}, {Name: "1ms"}}
	full.Classes[1].Response.Record(2e6)
	want := map[string]string{"p50 of 1ms": "2 ms", "p90 of 1ms": "2 ms", "p99 of 1ms": "2 ms",
		"requests/s": "45", "p50": "50 µs", "p90": "90 µs", "p99": "99 µs",
		"p99.9": "100 µs",
		"max":   "100 µs", "errors": "10 %", "server CPU/request": "1 µs", "server RSS": "1 MiB",
		"switches/request": "0.5"}
	got := Of(empty, full)
	if len(got) != len(want) {
		t.Errorf("%d figures, want %d", len(got), len(want))
	}
	for _, f := range got {
		if text := f.Write(f.Of(full)); text != want[f.Name] {
			t.Errorf("%s is %q, want %q", f.Name, text, want[f.Name])
		}
		if up := f.Higher; up != (f.Name == "requests/s") ||
			up != (f.Arrow() == "↑") {
			t.Errorf("%s: %s", f.Name, f.Arrow())
		}
	}
	if n := len(Of(empty)); n != 2 { // no requests a second, no errors
		t.Errorf("an empty result has %d figures, want 2", n)
	}
}

func TestDoubts(t *testing.T) {
	fine, busy, late, slow := result.New(), result.New(), result.New(), result.New()
	busy.Generator.Share = 0.9
	late.Response.Record(1e6)
	late.Lateness.Record(6e5)
	slow.Options.Rate, slow.Totals.Requests, slow.Elapsed = 100, 97, result.Duration(time.Second)
	few := result.New()
	few.Options.Rate, few.Options.Duration = 100, result.Duration(time.Second)
	few.Totals.Intended, few.Totals.Requests, few.Elapsed = 97, 97, few.Options.Duration
	if got := Doubts(few); len(got) > 0 {
		t.Errorf("all that was intended is answered: %q", got)
	}
	for want, r := range map[string]*result.Result{"": fine, "busy for more than 80 %": busy,
		"sent late": late, "less than 98 %": slow} {
		got := strings.Join(Doubts(r), "; ")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
