package result

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is a result with n latencies, drawn by seed.
func sample(seed uint64, n int) (*Result, []int64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := New()
	r.Tool, r.Target, r.Args = "v1", "tcp://h:1", []string{"tcp://h:1", "-c", "2"}
	r.Start, r.Elapsed = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration(2*time.Second)
	r.Options = Options{Protocol: "tcp", Connections: 2, Threads: 1, Pipeline: 1, Size: "64",
		Timeout: Duration(time.Second)}
	r.Generator = Generator{CPU: Duration(time.Second), Share: 0.5, Peak: 0.6}
	r.Series = []Second{{At: 0, Length: Duration(time.Second)},
		{At: 1, Length: Duration(time.Second)}}
	r.Totals.Status = map[string]uint64{"200": uint64(n)}
	r.Totals.Errors = Errors{1, 2, 3, 4, 5, 6}
	var all []int64
	for i := range n {
		v := int64(math.Exp(rng.NormFloat64()*2 + 11))
		all = append(all, v)
		r.Service.Record(v)
		r.Response.Record(v)
		s := &r.Series[i%2]
		s.Max = max(s.Max, v)
		s.Requests++
		r.Totals.Requests++
	}
	return r, all
}

// checkPercentiles holds h against a plain sorted list.
func checkPercentiles(t *testing.T, h *Histogram, all []int64) {
	t.Helper()
	slices.Sort(all)
	if h.Count() != uint64(len(all)) || h.min != all[0] || h.Max() != all[len(all)-1] {
		t.Fatalf("%d values %d to %d, want %d values %d to %d", h.Count(), h.min, h.Max(),
			len(all), all[0], all[len(all)-1])
	}
	for _, p := range []float64{1, 10, 50, 75, 90, 99, 99.9, 99.99, 100} {
		// Between two ranks, either one.
		rank := p / 100 * float64(len(all))
		low := float64(all[max(int(rank+1e-6), 1)-1])
		high := float64(all[int(math.Ceil(rank-1e-6))-1])
		if got := float64(h.At(p)); got < low*0.999-1 || got > high*1.001+1 {
			t.Errorf("p%g is %v, want %v to %v", p, got, low, high)
		}
	}
}

func TestHistogramAgainstSortedList(t *testing.T) {
	for _, n := range []int{1, 2, 100, 1000, 50_000} {
		r, all := sample(uint64(n), n)
		checkPercentiles(t, &r.Response, all)
	}
}

func TestHistogramBounds(t *testing.T) {
	var h Histogram
	if h.At(50) != 0 || h.Mean() != 0 || h.Count() != 0 {
		t.Error("an empty histogram has values")
	}
	h.Record(-5)
	h.Record(int64(2 * time.Hour))
	if h.min != 0 || h.Max() != int64(time.Hour) || h.Count() != 2 {
		t.Errorf("%d values from %d to %d", h.Count(), h.min, h.Max())
	}
	if n := testing.AllocsPerRun(100, func() { h.Record(12345) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
	var c Histogram
	c.Merge(&h)
	if count := h.Count(); c.Count() != count {
		t.Errorf("%d values of %d are merged", c.Count(), count)
	}
	h.Record(9)
	if c.Count() == h.Count() {
		t.Error("a sum changes with its parts")
	}
}

func TestFileRoundTrip(t *testing.T) {
	r, all := sample(1, 3000)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode[Result](text, Kind, Schema)
	if err != nil {
		t.Fatal(err)
	}
	checkPercentiles(t, &got.Response, all)
	if !got.Response.h.Equals(r.Response.h) {
		t.Error("the counts differ")
	}
	for _, x := range []*Result{got, r} {
		x.Service, x.Response = Histogram{}, Histogram{}
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("read %+v\nwrote %+v", got, r)
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"text":  {"Hello", "not a file"},
		"other": {`{"a": 1}`, "its kind is"},
		"schema": {`{"kind":"netco-bench load","schema":99}`,
			"schema 99, this netco-bench reads schema 1"},
		"hdr": {`{"kind":"netco-bench load","schema":1,"service":{"count":3,"hdr":"AAAA"}}`, "damaged: histogram"},
		"count": {`{"kind":"netco-bench load","schema":1,"service":{"count":3}}`,
			"damaged: histogram"},
		"field": {`{"kind":"netco-bench load","schema":1,"elapsed":"long"}`, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode[Result]([]byte(c.content), Kind, Schema); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	a, allA := sample(1, 2000)
	b, allB := sample(2, 3000)
	b.Start, b.Elapsed = a.Start.Add(-time.Second), Duration(3*time.Second)
	b.Series = append(b.Series, Second{At: 5, Requests: 1})
	a.Classes = []Class{{Name: "x"}, {"y", a.Response}}
	b.Classes = []Class{{"x", b.Response}, {Name: "y"}}
	sum, err := Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	checkPercentiles(t, &sum.Classes[0].Response, slices.Clone(allB))
	checkPercentiles(t, &sum.Classes[1].Response, slices.Clone(allA))
	checkPercentiles(t, &sum.Response, append(allA, allB...))
	if sum.Merged != 2 || sum.Totals.Requests != 5000 || sum.Totals.Status["200"] != 5000 ||
		sum.Totals.Errors != (Errors{2, 4, 6, 8, 10, 12}) {
		t.Errorf("totals %+v of %d", sum.Totals, sum.Merged)
	}
	if !sum.Start.Equal(b.Start) || sum.Elapsed != b.Elapsed || sum.Options.Connections != 4 ||
		sum.Options.Threads != 2 {
		t.Errorf("start %v, elapsed %v, options %+v", sum.Start, sum.Elapsed, sum.Options)
	}
	if len(sum.Series) != 3 || sum.Series[0].Requests != 2500 || sum.Series[2].At != 5 ||
		sum.Series[0].Max != max(a.Series[0].Max, b.Series[0].Max) {
		t.Errorf("series %+v", sum.Series)
	}
	if want := 2.0 / 5; math.Abs(sum.Generator.Share-want) > 1e-9 {
		t.Errorf("the generators' share is %v, want %v", sum.Generator.Share, want)
	}
	again, err := Merge(sum, a)
	if err != nil || again.Merged != 3 {
		t.Errorf("a sum and a third: %+v, %v", again, err)
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, change := range map[string]func(*Result){
		"target":   func(r *Result) { r.Target = "tcp://other:1" },
		"loop":     func(r *Result) { r.Options.Rate = 5 },
		"pipeline": func(r *Result) { r.Options.Pipeline = 8 },
		"size":     func(r *Result) { r.Options.Size = "1k" },
		"work":     func(r *Result) { r.Options.Work = "1µs,2µs:0.5" },
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := sample(1, 1)
			b, _ := sample(1, 1)
			change(b)
			if _, err := Merge(a, b); err == nil ||
				!strings.Contains(err.Error(), "result 2 of 2") {
				t.Error(err)
			}
		})
	}
	if _, err := Merge(); err == nil {
		t.Error("the sum of nothing")
	}
}

func TestRates(t *testing.T) {
	r := New()
	if r.RequestsPerSecond() != 0 || r.ErrorShare() != 0 {
		t.Error("an empty result has rates")
	}
	r.Elapsed, r.Totals.Requests = Duration(2*time.Second), 90
	r.Totals.Errors = Errors{Timeout: 10, Status: 10} // the latter are among the 90
	if r.RequestsPerSecond() != 45 || r.ErrorShare() != 0.2 {
		t.Errorf("%v requests/s, %v errors", r.RequestsPerSecond(), r.ErrorShare())
	}
	s := Server{User: 300, System: 150}
	if s.CPUPerRequest(90) != 5 || s.CPUPerRequest(0) != 0 {
		t.Error(s.CPUPerRequest(90))
	}
	if PercentileName(99.9) != "p99.9" {
		t.Error(PercentileName(99.9))
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: A: B\n"); got != "A: B" {
		t.Error(got)
	}
}
