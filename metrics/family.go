package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/netco-go/netco/internal/counter"
)

// kind is a metric's type.
type kind uint8

const (
	gauge kind = iota
	count      // a counter: it only rises
	histogram
)

func (k kind) String() string { return [...]string{"gauge", "counter", "histogram"}[k] }

// family is a metric: its name and meaning, and functions that read its values
// from an S, of which there may be many. Constant.
type family[S any] struct {
	name, help string
	kind       kind
	labels     []string // the labels that distinguish one S from another: "processor", or none
	label      string   // one more label, or ""
	values     []string // the values of label
	// How many of the values, from the first on, ordinary goroutines have;
	// without a label 1 or 0.
	goroutines int

	read func(from S, i int) float64            // of values[i]; for gauges and counters
	hist func(from S) counter.HistogramSnapshot // for histograms
	has  func(from S) bool                      // nil: always
	desc *prometheus.Desc                       // made from the above
}

// described makes the descriptions.
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

// series is one value of a family. Its labels are made once and shared by all
// scrapes. Constant.
type series[S any] struct {
	*family[S]
	index  int // of values
	labels []*dto.LabelPair
}

// seriesOf returns the series of one S, whose labels have these values.
func seriesOf[S any](families []family[S], of ...string) []series[S] {
	var all []series[S]
	for i := range families {
		f := &families[i]
		if f.label == "" {
			all = append(all, series[S]{f, 0, prometheus.MakeLabelPairs(f.desc, of)})
			continue
		}
		for j, value := range f.values {
			labels := prometheus.MakeLabelPairs(f.desc, append(of[:len(of):len(of)], value))
			all = append(all, series[S]{f, j, labels})
		}
	}
	return all
}

// collect reads all values of one S first, so that they are of about one
// moment, and then sends them: the receiver may be slow.
func collect[S any](ch chan<- prometheus.Metric, all []series[S], from S) {
	samples := make([]sample, len(all))
	for i := range all {
		s := &all[i]
		if s.has != nil && !s.has(from) {
			continue
		}
		samples[i] = sample{desc: s.desc, labels: s.labels, kind: s.kind}
		if s.kind == histogram {
			h := s.hist(from)
			samples[i].hist = &h
		} else {
			samples[i].value = s.read(from, s.index)
		}
	}
	for i := range samples {
		if samples[i].desc != nil {
			ch <- &samples[i]
		}
	}
}

// sample is the value of a series at some moment: a prometheus.Metric.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	kind   kind
	value  float64
	hist   *counter.HistogramSnapshot // for histograms
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	switch s.kind {
	case gauge:
		out.Gauge = &dto.Gauge{Value: &s.value}
	case count:
		out.Counter = &dto.Counter{Value: &s.value}
	case histogram:
		out.Histogram = encode(s.hist)
	}
	return nil
}
