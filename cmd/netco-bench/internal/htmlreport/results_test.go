package htmlreport

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/internal/testenv"
)

// made returns a result of an open loop with a stall in second 7, at a rate
// around the given one and latencies around the given one.
func made(seed uint64, rate int, latency time.Duration) *result.Result {
	random := rand.New(rand.NewPCG(seed, 1))
	r := result.New()
	r.Target, r.Tool, r.Args = "tcp://127.0.0.1:8080", "(devel)", []string{"-c", "64", "-rate",
		"1000", "tcp://127.0.0.1:8080"}
	r.Start, r.Elapsed = time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC),
		result.Duration(20*time.Second)
	r.Environment = result.Environment{OS: "Linux", Kernel: "6.18.44", Arch: "amd64",
		CPU: "AMD EPYC", Cores: 2, Go: "go1.26.8"}
	r.Options = result.Options{Protocol: "tcp", Connections: 64, Threads: 1, Rate: float64(rate),
		Arrival: "poisson", Pipeline: 1, Size: "64",
		Timeout: result.Duration(5 * time.Second)}
	for i := range 20 {
		s := result.Second{At: i, Length: result.Duration(time.Second)}
		for range rate - random.IntN(rate/50+1) {
			ns := float64(latency) * math.Exp(0.5*random.NormFloat64())
			r.Service.Record(int64(ns))
			r.Lateness.Record(int64(ns / 20))
			if i == 7 {
				ns += random.Float64() * 1e8
			}
			r.Response.Record(int64(ns))
			s.Latency.Record(int64(ns))
			s.Requests++
		}
		s.Fill()
		r.Totals.Requests += s.Requests
		r.Series = append(r.Series, s)
	}
	r.Generator = result.Generator{Share: 0.34, Peak: 0.5}
	r.Server = &result.Server{User: result.Duration(time.Second),
		System: result.Duration(2 * time.Second), RSSStart: 8 << 20, RSSMax: 12 << 20,
		Voluntary: 40000, Reads: 30000}
	return r
}

// spoiled returns a result that has everything to warn of.
func spoiled() *result.Result {
	r := made(9, 300, time.Millisecond)
	r.Totals.Errors = result.Errors{Refused: 1200, Timeout: 7}
	r.Totals.Status = map[string]uint64{"200": 5000, "503": 900}
	r.Series[3].Errors = 1207
	r.Generator.Share, r.Failure, r.Interrupted = 0.93, "connection refused", true
	r.Options.Rate *= 2
	for range 10_000 {
		r.Lateness.Record(int64(time.Second))
	}
	r.Thresholds = []result.Threshold{{Limit: "p99=5ms", Value: "81 ms", Broken: true},
		{Limit: "errors=50%", Value: "17 %"}}
	return r
}

// pages returns one of each kind, and what must and must not stand on it.
func pages() map[string]struct {
	page       Page
	want, none []string
} {
	one := made(1, 200, time.Millisecond)
	return map[string]struct {
		page       Page
		want, none []string
	}{
		"one": {Page{Title: "one", Sections: Results(Named{"one", one})},
			[]string{"requests/s", "response", "service", "sent late", "None.", "AMD EPYC",
				"poisson", ">rss max</th><td class=\"text\">12 MiB",
				">share</th><td class=\"text\">34 %", "-c 64 -rate 1000 tcp://", ">p99.9</text>",
				"20s", "2026-11-22 20:00:00 UTC"},
			[]string{"closed loop", "role=\"note\"", "Thresholds"}},
		"spoiled": {Page{Title: "spoiled", Sections: Results(Named{"spoiled", spoiled()})},
			[]string{"could not be finished: connection refused", "interrupted",
				"busy for more than 80 %", "98 % of the intended requests",
				"1,200", ">refused</th>", "503", "broken", "kept"},
			nil},
		"several": {Page{Title: "several", Sections: Results(Named{"first", one},
			Named{"second", spoiled()})},
			[]string{"second: The run was interrupted", "<th scope=\"col\">second</th>",
				"<title>second</title></polyline>"},
			[]string{"sent late</th>"}},
		"nothing": {Page{Title: "nothing", Sections: Results(Named{"nothing", result.New()})},
			[]string{"None.", "closed loop"}, []string{"<figure"}},
	}
}

func TestPages(t *testing.T) {
	for name, c := range pages() {
		page := write(t, c.page)
		// NETCO_PAGES keeps them to look at.
		if dir := os.Getenv("NETCO_PAGES"); dir != "" {
			testenv.OK(t, os.WriteFile(dir+"/"+name+".html", []byte(page), 0o600))
		}
		for _, want := range c.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		for _, none := range append(c.none, "NaN", "%!", "ZgotmplZ") {
			if strings.Contains(page, none) {
				t.Errorf("%s: has %q", name, none)
			}
		}
	}
}
