package compare

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/testenv"
)

// made returns a result of one second with that many requests, each of that
// latency.
func made(requests int, latency time.Duration) *result.Result {
	r := result.New()
	r.Elapsed = result.Duration(time.Second)
	r.Totals.Requests = uint64(requests)
	for range requests {
		r.Response.Record(int64(latency))
	}
	return r
}

func TestRunAlternates(t *testing.T) {
	var order []int
	c, err := Run(t.Context(), []string{"x", "y", "z"}, 3,
		func(_ context.Context, side int) (*result.Result, error) {
			order = append(order, side)
			return made(side+1, time.Millisecond), nil
		}, nil)
	testenv.OK(t, err)
	if want := []int{0, 1, 2, 2, 1, 0, 0, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	for i, s := range c.Sides {
		if len(s.Rounds) != 3 || s.Rounds[2].Totals.Requests != uint64(i+1) {
			t.Errorf("side %d has the rounds of another", i)
		}
	}
}

// TestRunEnds: a failure or an interrupt leaves the rounds until then.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	for name, fail := range map[string]func(r *result.Result) error{
		"failure": func(*result.Result) error { return cause },
		"interrupt": func(r *result.Result) error {
			r.Interrupted = true
			cancel(cause)
			return nil
		},
	} {
		n := 0
		c, err := Run(ctx, []string{"x", "y"}, 3, func(context.Context, int) (*result.Result,
			error) {
			r := made(1, 1)
			if n++; n == 4 {
				return r, fail(r)
			}
			return r, nil
		}, nil)
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "round 2 of x") {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.Sides[0].Rounds) != 1 || len(c.Sides[1].Rounds) != 2 ||
			c.Sides[0].Failure != cause.Error() {
			t.Errorf("%s: %+v", name, c.Sides[0])
		}
	}
}

// compared returns the comparison of rounds of 100 requests with ones of other
// numbers and latencies.
func compared(rounds, requests int, latency time.Duration) *Comparison {
	c := &Comparison{Sides: []*Side{{Name: "old"}, {Name: "new"}}}
	for range rounds {
		c.Sides[0].Rounds = append(c.Sides[0].Rounds, made(100, time.Millisecond))
		c.Sides[1].Rounds = append(c.Sides[1].Rounds, made(requests, latency))
	}
	return c
}

func TestOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		rounds, requests int
		latency          time.Duration
		rate, p99        string // what their rows say
	}{
		"faster": {6, 200, time.Millisecond / 2, "better", "better"},
		"slower": {6, 50, 2 * time.Millisecond, "worse", "worse"},
		"same":   {6, 100, time.Millisecond, "no difference shown", "no difference shown"},
		"few": {3, 200, time.Millisecond, "3 rounds: an interval needs 6",
			"3 rounds: an interval needs 6"},
		"one":    {1, 200, time.Millisecond, "one round: no interval", "one round: no interval"},
		"silent": {6, 0, 0, "worse", "–"},
	} {
		want := map[string]string{"requests/s": c.rate, "p99": c.p99, "errors": ""}
		for _, r := range compared(c.rounds, c.requests, c.latency).Rows(1) {
			if says, ok := want[r.Figure.Name]; ok && says != "" && r.Says() != says {
				t.Errorf("%s: %s: %q, want %q", name, r.Figure.Name, r.Says(), says)
			}
			delete(want, r.Figure.Name)
		}
		if len(want) > 0 {
			t.Errorf("%s: no rows of %v", name, want)
		}
	}
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	compared(6, 200, time.Millisecond).Print(&b)
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"a: old, 6 rounds", "b: new, 6 rounds", "better a b b/a 95 % interval",
		"requests/s ↑ 100 ±0.0 % 200 ±0.0 % 2.00 2.00–2.00 b is better",
		"p99 ↓ 1 ms ±0.0 % 1 ms ±0.0 % 1.00 1.00–1.00 no difference shown",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

// TestPrintOne: a side that is alone has its figures.
func TestPrintOne(t *testing.T) {
	c := compared(3, 200, time.Millisecond)
	c.Sides = c.Sides[1:]
	var b strings.Builder
	c.Print(&b)
	if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text,
		"a: new, 3 rounds better a requests/s ↑ 200 ±0.0 % p50 ↓ 1 ms ±0.0 %") {
		t.Errorf("printed\n%s", b.String())
	}
}

func TestFile(t *testing.T) {
	text, err := json.Marshal(NewFile("both", compared(2, 3, time.Millisecond)))
	testenv.OK(t, err)
	f, err := result.Decode[File](text, Kind, Schema)
	testenv.OK(t, err)
	side := f.Comparisons[0].Sides[1]
	if f.Title != "both" || side.Name != "new" || side.Rounds[1].Response.Count() != 3 {
		t.Errorf("read back %+v", f)
	}
	for name, bad := range map[string]string{"kind": `{"kind":"other","schema":1}`,
		"schema": `{"kind":"netco-bench compare","schema":9}`,
		"damage": `{"kind":`} {
		if _, err := result.Decode[File]([]byte(bad), Kind, Schema); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMarkdown(t *testing.T) {
	c := compared(6, 200, time.Millisecond)
	c.Title = "echo"
	c.Sides = append(c.Sides, &Side{Name: "gone", Failure: "refused"})
	var b strings.Builder
	c.Sides[0].Rounds[0].Environment.CPU = "EPYC"
	c.Sides[1].Rounds[0].Environment.Cores = 2
	NewFile("", &Comparison{}, c).MarkdownHead(&b)
	c.Markdown(&b)
	for _, want := range []string{"in bold where its 95 % interval", ", EPYC, 0 to 2 cores, ",
		"; 6 rounds of 0s each.\n\n## echo\n\n| | requests/s ↑ | p50 ↓ |", "\n| old | 100 | 1 ms |",
		"\n| new | 200 **2.00** better | 1 ms 1.00 no difference shown |",
		"\n| gone | – | – |", "\n\ngone ended in round 1: refused\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	const column = " errors ↓ |"
	if strings.Contains(b.String(), column) {
		t.Errorf("%q without an error in\n%s", column, b.String())
	}
	c.Sides[1].Rounds[2].Totals.Errors.Reset = 4
	b.Reset()
	if c.Markdown(&b); !strings.Contains(b.String(), column) {
		t.Errorf("no %q in\n%s", column, b.String())
	}
}

func TestWarnings(t *testing.T) {
	c := compared(3, 100, time.Millisecond)
	if w := c.Warnings(); w != nil {
		t.Errorf("%q", w)
	}
	for i, r := range c.Sides[1].Rounds {
		r.Generator.Share = []float64{0.5, 0.9, 0.95}[i]
	}
	if w := c.Warnings(); len(w) != 1 ||
		!strings.HasPrefix(w[0], "new: the generator was busy for more than 80 % of the time") ||
		!strings.HasSuffix(w[0], ", in 2 of 3 rounds") {
		t.Errorf("%q", w)
	}
	c = compared(3, 100, time.Millisecond)
	c.Sides[0].Rounds[1].Totals.Errors.Reset = 4
	c.Sides[0].Rounds[1].Totals.FirstError = "reset"
	if w := c.Warnings(); len(w) != 1 || w[0] != "old: 4 errors, the first: reset" {
		t.Errorf("%q", w)
	}
}
