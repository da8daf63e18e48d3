package metrics

import (
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/scheduler"
)

// collector collects the metrics of a Scheduler.
type collector struct {
	s          *scheduler.Scheduler
	own        []series[*scheduler.Scheduler]
	goroutines []series[*view]
	members    atomic.Pointer[[]member] // made when the Scheduler has Processors
}

// member has a collector's series of one Processor.
type member struct {
	series []series[*view] // constant
}

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
// documentation. Collect may be called by several threads; it allocates some 6
// KiB for each Processor.
func NewCollector(s *scheduler.Scheduler) prometheus.Collector {
	return &collector{s: s, own: seriesOf(ofScheduler),
		goroutines: seriesOf(ofGoroutines, "outside")}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, ofScheduler)
	describe(ch, ofProcessor)
	ch <- handoffsBySite
	ch <- circles
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	collect(ch, c.own, c.s)
	collect(ch, c.goroutines, ordinary())
	for _, h := range c.s.Handoffs() {
		labels := prometheus.MakeLabelPairs(handoffsBySite,
			[]string{h.Cause, strings.ToValidUTF8(h.BlockedAt, "\uFFFD")})
		ch <- &sample{desc: handoffsBySite, labels: labels, kind: count, value: float64(h.Count)}
	}
	collectCircles(ch, engine.Of(c.s).Circles())
	processors := engine.Of(c.s).Processors()
	if len(processors) == 0 {
		return
	}
	members := c.membersOf(len(processors))
	for i, p := range processors {
		m := &members[i]
		collect(ch, m.series, m.view(c.s, p))
	}
}

// collectCircles sends a value for each circle, and 0 if there is none.
func collectCircles(ch chan<- prometheus.Metric, found []diagnose.Circle) {
	send := func(circle string, n int) {
		labels := prometheus.MakeLabelPairs(circles,
			[]string{strings.ToValidUTF8(circle, "\uFFFD")})
		ch <- &sample{desc: circles, labels: labels, kind: gauge, value: float64(n)}
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

// membersOf returns the members for the Scheduler's n Processors: once there
// are any, they stay the same.
func (c *collector) membersOf(n int) []member {
	if members := c.members.Load(); members != nil {
		return *members
	}
	members := make([]member, n)
	for i := range members {
		members[i].series = seriesOf(ofProcessor, strconv.Itoa(i))
	}
	c.members.CompareAndSwap(nil, &members)
	return *c.members.Load()
}
