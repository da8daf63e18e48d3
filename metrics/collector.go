package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/scheduler"
)

// collector collects the metrics of a Scheduler.
type collector struct{ s *scheduler.Scheduler }

// handoffsBySite is in no table: its label values are known only when read.
// Scheduler.Handoffs bounds their number.
var handoffsBySite = prometheus.NewDesc("netco_handoffs_by_site_total",
	"Handoffs by the cause that blocked the coroutine and by the place: one of the first 64, "+
		"or \"elsewhere\".", bySite, nil)

// circles is in no table either: its label names the deadlocked coroutines.
var circles = prometheus.NewDesc("netco_deadlocked_coroutines",
	"Coroutines that wait for each other's locks in a circle, while other coroutines may go on; "+
		"the label names them in the order in which they wait.", []string{"circle"}, nil)

// mostCircles is the number of circles with a label of their own.
const mostCircles = 8

var bySite = []string{"cause", "site"}

// NewCollector returns a collector of the metrics of s, which may be started
// later. A registry takes one such collector; the package documentation shows
// how to register several Schedulers. Several threads may call Collect.
func NewCollector(s *scheduler.Scheduler) prometheus.Collector { return &collector{s} }

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, ofScheduler)
	describe(ch, ofProcessor)
	ch <- handoffsBySite
	ch <- circles
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	collect(ch, ofScheduler, c.s)
	collect(ch, ofGoroutines, ordinary(), "none")
	for _, h := range c.s.Handoffs() {
		ch <- prometheus.MustNewConstMetric(handoffsBySite, count, float64(h.Count), h.Cause,
			strings.ToValidUTF8(h.BlockedAt, "\uFFFD"))
	}
	collectCircles(ch, engine.Of(c.s).Circles())
	for i, p := range engine.Of(c.s).Processors() {
		collect(ch, ofProcessor, newView(c.s, p), strconv.Itoa(i))
	}
}

// collectCircles sends a value for each circle, or a 0 if there are no circles.
func collectCircles(ch chan<- prometheus.Metric, found []diagnose.Circle) {
	send := func(circle string, n int) {
		ch <- prometheus.MustNewConstMetric(circles, gauge, float64(n),
			strings.ToValidUTF8(circle, "\uFFFD"))
	}
	others := 0
	for i, c := range found {
		if i < mostCircles {
			send(c.String(), len(c))
		} else {
			others += len(c)
		}
	}
	switch {
	case len(found) == 0:
		send("", 0)
	case others > 0:
		send("others", others)
	}
}
