package promql

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco/metrics"
	"github.com/netco-go/netco/scheduler"
)

// metric is one as queries may use it.
type metric struct {
	kind   dto.MetricType
	bucket bool                // a classic histogram's _bucket
	labels map[string][]string // with all values, or nil where any may come
}

// vocabulary is every name that a query may have.
type vocabulary map[string]metric

// vocabularyOf has the metrics of a Scheduler, and client_golang's of the
// process. Only Processors that are locked to threads have all.
func vocabularyOf(t testing.TB) vocabulary {
	t.Helper()
	s, err := scheduler.New(scheduler.Options{Processors: 2, LockThreads: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := metrics.Register(r, s); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	words := vocabulary{
		// It has no series before the first handoff.
		"netco_handoffs_by_site_total": {
			kind:   dto.MetricType_COUNTER,
			labels: map[string][]string{"cause": nil, "site": nil},
		},
	}
	for _, f := range families {
		words.add(f)
	}
	return words
}

func (v vocabulary) add(f *dto.MetricFamily) {
	name, kind, values := f.GetName(), f.GetType(), labelsOf(f)
	v[name] = metric{kind: kind, labels: values}
	if kind != dto.MetricType_HISTOGRAM && kind != dto.MetricType_SUMMARY {
		return
	}
	for _, suffix := range []string{"_sum", "_count"} {
		v[name+suffix] = metric{kind: dto.MetricType_COUNTER, labels: values}
	}
	if kind == dto.MetricType_HISTOGRAM {
		v[name+"_bucket"] = metric{dto.MetricType_COUNTER, true, withLabel(values, "le")}
	}
}

// labelsOf returns a family's labels and their values. All but a Processor's
// number and what describes a build are fixed.
func labelsOf(f *dto.MetricFamily) map[string][]string {
	open := !strings.HasPrefix(f.GetName(), "netco_") || f.GetName() == "netco_info"
	values := map[string][]string{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			name, value := l.GetName(), l.GetValue()
			switch {
			case open || name == "processor":
				values[name] = nil
			case !slices.Contains(values[name], value):
				values[name] = append(values[name], value)
			}
		}
	}
	return values
}

func withLabel(values map[string][]string, name string) map[string][]string {
	all := map[string][]string{name: nil}
	for l, v := range values {
		all[l] = v
	}
	return all
}
