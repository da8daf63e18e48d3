package main

import (
	"bytes"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics is one scrape, by series: a name with its labels.
type metrics struct {
	series map[string]series
}

// series is one value.
type series struct {
	metric model.Metric
	value  float64
	rises  bool // it must not fall: a counter, or a part of a histogram
}

func (d *daemon) scrape() (*metrics, error) {
	text, err := d.page("/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(text)
}

// value is the sum of a metric.
func (d *daemon) value(name string) (float64, error) {
	m, err := d.scrape()
	if err != nil {
		return 0, err
	}
	n, _ := m.sum(name)
	return n, nil
}

// wants is an error unless a metric has that value.
func (d *daemon) wants(name string, want float64) error {
	n, err := d.value(name)
	if err == nil && n != want {
		err = fmt.Errorf("%s is %v, want %v", name, n, want)
	}
	return err
}

// parseMetrics reads Prometheus' text format.
func parseMetrics(text []byte) (*metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	m := &metrics{series: map[string]series{}}
	for _, f := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, f)
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			key := s.Metric.String()
			if _, twice := m.series[key]; twice {
				return nil, fmt.Errorf("%s is there twice", key)
			}
			m.series[key] = series{s.Metric, float64(s.Value), rises(f, s)}
		}
	}
	return m, nil
}

// rises reports whether a sample of a family is one that must not fall.
func rises(f *dto.MetricFamily, s *model.Sample) bool {
	switch f.GetType() {
	case dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM:
		return true
	case dto.MetricType_SUMMARY:
		_, quantile := s.Metric[model.QuantileLabel]
		return !quantile
	}
	return false
}

// sum adds up all values of a name, whatever their labels, of which some may be
// asked for, as `direction="in"`.
func (m *metrics) sum(name string, labels ...string) (sum float64, found bool) {
next:
	for _, s := range m.series {
		if string(s.metric[model.MetricNameLabel]) != name {
			continue
		}
		for _, l := range labels {
			label, value, _ := strings.Cut(l, "=")
			if fmt.Sprintf("%q", s.metric[model.LabelName(label)]) != value {
				continue next
			}
		}
		sum += s.value
		found = true
	}
	return sum, found
}

// fallen returns the counters that are lower than they were, or gone.
func (m *metrics) fallen(before *metrics) (wrong []string) {
	for key, was := range before.series {
		if !was.rises {
			continue
		}
		if is, ok := m.series[key]; !ok || is.value < was.value {
			wrong = append(wrong, fmt.Sprintf("%s was %v and is %v", key, was.value, is.value))
		}
	}
	return wrong
}
