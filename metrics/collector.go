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

// handoffsBySite is in no table, as its label values come by and by.
// Scheduler.Handoffs bounds their number.
var handoffsBySite = prometheus.NewDesc("netco_handoffs_by_site_total",
	"Handoffs by what the coroutine was blocked by, and where: by one of 64 places, or "+
		"\"elsewhere\".", bySite, nil)

// circles is in no table either: its label has the coroutines that were found.
var circles = prometheus.NewDesc("netco_deadlocked_coroutines",
	"Coroutines that wait for each other's locks in a circle, while others may go on; the label "+
		"says which waits for which.", []string{"circle"}, nil)

// mostCircles is how many circles have a label of their own.
const mostCircles = 8

var bySite = []string{"cause", "site"}

// NewCollector returns a collector of the metrics of s, which may be started
// later. A registry takes one of them; for several Schedulers see the package's
// documentation. Collect may be called by several threads.
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
	collect(ch, ofGoroutines, ordinary(), "outside")
	for _, h := range c.s.Handoffs() {
		ch <- prometheus.MustNewConstMetric(handoffsBySite, count, float64(h.Count), h.Cause,
			strings.ToValidUTF8(h.BlockedAt, "\uFFFD"))
	}
	collectCircles(ch, engine.Of(c.s).Circles())
	for i, p := range engine.Of(c.s).Processors() {
		collect(ch, ofProcessor, newView(c.s, p), strconv.Itoa(i))
	}
}

// collectCircles sends a value for each circle, and 0 if there is none.
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
