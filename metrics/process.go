package metrics

import (
	"cmp"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/internal/sockinfo"
)

// process holds the figures of the process that one scrape reads together.
type process struct {
	blocking blocking.Stats // of the default pool
}

// ofProcess are the metrics of the process as a whole.
var ofProcess = described([]family[*process]{
	{name: "netco_sockets_open", kind: gauge,
		help: "Sockets of package socket that are open.",
		read: func(*process, int) float64 { return float64(sockinfo.OpenCount()) }},

	{name: "netco_accept_pauses_total", kind: count,
		help: "Times that accepting stopped at the limit of a socket.LimitListener or of " +
			"Server.MaxConns.",
		read: func(*process, int) float64 { return float64(sockinfo.AcceptPauses()) }},

	// The default pool of package blocking.
	{name: "netco_blocking_calls", kind: gauge, label: "state",
		values: []string{"running", "queued"},
		help: "Functions offloaded to the default pool of package blocking that run, or wait " +
			"in its queue.",
		read: func(p *process, i int) float64 {
			return float64([...]int{p.blocking.Running, p.blocking.Queued}[i])
		}},
	{name: "netco_blocking_goroutines_max", kind: gauge,
		help: "How many functions may run at once, see blocking.Pool.SetLimit.",
		read: func(p *process, _ int) float64 { return float64(p.blocking.Limit) }},
	{name: "netco_blocking_calls_done_total", kind: count,
		help: "Functions of the pool that have ended, by return, panic or Goexit.",
		read: func(p *process, _ int) float64 { return float64(p.blocking.Done) }},
	{name: "netco_blocking_calls_abandoned_total", kind: count,
		help: "Calls whose caller stopped waiting, by a context's end or a forced shutdown, " +
			"while the function ran on.",
		read: func(p *process, _ int) float64 { return float64(p.blocking.Abandoned) }},

	// Servers of net/http.
	{name: "netco_http_requests_total", kind: count, label: "code",
		values: []string{"1xx", "2xx", "3xx", "4xx", "5xx"},
		help: "Requests of HTTP/1 that Servers of net/http have answered, by class of status " +
			"code.",
		read: func(_ *process, i int) float64 { return float64(httpinfo.Codes(i)) }},
	{name: "netco_http_requests_in_flight", kind: gauge,
		help: "Requests of HTTP/1 whose handlers run, except requests on connections handed " +
			"to the standard's server.",
		read: func(*process, int) (n float64) {
			httpinfo.Each(func(httpinfo.Request) bool { n++; return true })
			return n
		}},
	{name: "netco_http_request_duration_seconds",
		help: "How long handlers of net/http's Servers took.",
		hist: func(*process) counter.HistogramSnapshot { return httpinfo.Durations() }},
})

// processCollector collects the metrics of the process.
type processCollector struct{}

// info describes netco's build.
var info = prometheus.NewDesc("netco_info", "Always 1. The labels are netco's version, the Go "+
	"release and how coroutines are switched to.",
	infoLabels, nil)

var infoLabels = []string{"version", "goversion", "backend"}

// NewProcessCollector returns a collector for the parts that all Schedulers of
// the process share: sockets, the default pool of package blocking, requests of
// net/http's Servers, and netco's version. Requests are counted from this call
// on. A registry takes one such collector.
func NewProcessCollector() prometheus.Collector {
	httpinfo.Count()
	return processCollector{}
}

// Describe implements prometheus.Collector.
func (processCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- info
	describe(ch, ofProcess)
}

// Collect implements prometheus.Collector.
func (processCollector) Collect(ch chan<- prometheus.Metric) {
	_, version := engine.Versions()
	ch <- prometheus.MustNewConstMetric(info, gauge, 1, cmp.Or(version, "unknown"),
		runtime.Version(), context.Backend())
	collect(ch, ofProcess, &process{blocking: blocking.Default().Stats()})
}
