package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/internal/counter"
)

// The types of metrics that are not histograms.
const (
	gauge = prometheus.GaugeValue
	count = prometheus.CounterValue // it only rises
)

// family is a metric: its name, its help text, and functions that read its
// values from an S. The metric has one set of values for each S. Constant.
type family[S any] struct {
	name, help string
	kind       prometheus.ValueType // unless it is a histogram
	labels     []string             // distinguish one S from another: "processor", or none
	label      string               // one more label, or ""
	values     []string             // the values of label
	// The number of values, from the first on, that ordinary goroutines have;
	// without a label 1 or 0.
	goroutines int

	read func(from S, i int) float64            // of values[i]; for gauges and counters
	hist func(from S) counter.HistogramSnapshot // not nil: a histogram
	has  func(from S) bool                      // nil: always
	desc *prometheus.Desc                       // made from the above
}

// described sets desc and labels of each family and returns families.
func described[S any](families []family[S], labels ...string) []family[S] {
	for i := range families {
		f := &families[i]
		f.labels = labels
		all := labels
		if f.label != "" {
			all = append(all[:len(all):len(all)], f.label)
		}
		f.desc = prometheus.NewDesc(f.name, f.help, all, nil)
	}
	return families
}

func describe[S any](ch chan<- *prometheus.Desc, families []family[S]) {
	for i := range families {
		ch <- families[i].desc
	}
}

// collect sends the values of one S. The strings in of are the values of the
// families' labels. collect reads all values before it sends the first, because
// the receiver may be slow and the values should be of about one moment.
func collect[S any](ch chan<- prometheus.Metric, families []family[S], from S, of ...string) {
	all := make([]prometheus.Metric, 0, 2*len(families))
	for i := range families {
		f := &families[i]
		switch {
		case f.has != nil && !f.has(from):
		case f.hist != nil:
			all = append(all, newHistogram(f.desc, f.hist(from), of...))
		case f.label == "":
			all = append(all, prometheus.MustNewConstMetric(f.desc, f.kind, f.read(from, 0), of...))
		}
		for j, value := range f.values {
			labels := append(of[:len(of):len(of)], value)
			all = append(all, prometheus.MustNewConstMetric(f.desc, f.kind, f.read(from, j),
				labels...))
		}
	}
	for _, m := range all {
		ch <- m
	}
}
