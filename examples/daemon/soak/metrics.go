package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// metrics is one scrape: a value for each name with its labels, as they stand in the text.
type metrics struct {
	values   map[string]float64
	counters map[string]bool // those that must not fall
}

func (d *daemon) scrape() (*metrics, error) {
	text, err := d.page("/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(text)
}

// parseMetrics reads Prometheus' text format as far as client_golang writes it.
func parseMetrics(text []byte) (*metrics, error) {
	m := &metrics{values: map[string]float64{}, counters: map[string]bool{}}
	types := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			types[name] = kind
		}
		if line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("a metric without value: %q", line)
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		key := line[:at]
		if _, twice := m.values[key]; twice {
			return nil, fmt.Errorf("%s is there twice", key)
		}
		m.values[key] = value
		name, _, _ := strings.Cut(key, "{")
		m.counters[key] = types[name] == "counter" || ofHistogram(name, types)
	}
	return m, lines.Err()
}

// ofHistogram reports whether name is one of the growing parts of a histogram or summary.
func ofHistogram(name string, types map[string]string) bool {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && (types[base] == "histogram" || types[base] == "summary") {
			return true
		}
	}
	return false
}

// sum adds up all values of a name, whatever their labels, of which some may be asked for, as `direction="in"`.
func (m *metrics) sum(name string, labels ...string) (sum float64, found bool) {
next:
	for key, value := range m.values {
		base, rest, _ := strings.Cut(key, "{")
		if base != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		sum += value
		found = true
	}
	return sum, found
}

// fallen returns the counters that are lower than they were, or gone.
func (m *metrics) fallen(before *metrics) (wrong []string) {
	for key, was := range before.values {
		if !before.counters[key] {
			continue
		}
		if is, ok := m.values[key]; !ok || is < was {
			wrong = append(wrong, fmt.Sprintf("%s was %v and is %v", key, was, is))
		}
	}
	return wrong
}
