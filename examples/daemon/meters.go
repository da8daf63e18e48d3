package main

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// meters are the daemon's own metrics. What netco itself counts comes from
// package metrics.
type meters struct {
	opened   prometheus.Counter
	ends     map[string]prometheus.Counter
	panics   prometheus.Counter
	commands map[command]*meter // 0 is any that there is not
}

// meter is of one command. Its parts are looked up once, not for each request.
type meter struct {
	done, refused, failed prometheus.Counter
	seconds               prometheus.Observer
}

var commandNames = map[command]string{
	0: "unknown", cmdEcho: "echo", cmdHash: "hash", cmdStream: "stream",
	cmdFanOut: "fan-out", cmdFault: "fault",
}

// newMeters registers the metrics. open is how many connections there are.
func newMeters(r prometheus.Registerer, maxConns int, open func() float64) *meters {
	add := promauto.With(r)
	m := &meters{
		opened: add.NewCounter(prometheus.CounterOpts{
			Name: "daemon_connections_opened_total", Help: "Connections accepted."}),
		panics: add.NewCounter(prometheus.CounterOpts{
			Name: "daemon_panics_total",
			Help: "Requests that ended in a panic, and their connections with them."}),
		ends:     map[string]prometheus.Counter{},
		commands: map[command]*meter{},
	}
	closed := add.NewCounterVec(prometheus.CounterOpts{
		Name: "daemon_connections_closed_total", Help: "Connections closed, by what ended them."},
		[]string{"why"})
	requests := add.NewCounterVec(prometheus.CounterOpts{
		Name: "daemon_requests_total",
		Help: "Requests, by command and result: done; refused, which tells the client why; " +
			"failed, which ends the connection."},
		[]string{"command", "result"})
	seconds := add.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "daemon_request_seconds",
		Help:    "From a request's last byte to its answer's last one in the buffer.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 11)}, []string{"command"})
	add.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "daemon_connections_open", Help: "Connections that are open."}, open)
	add.NewGauge(prometheus.GaugeOpts{
		Name: "daemon_connections_max",
		Help: "Connections that may be open: -max-conns, as far as there are fds."},
	).Set(float64(maxConns))
	of := func(name string) *meter {
		return &meter{
			done:    requests.WithLabelValues(name, "done"),
			refused: requests.WithLabelValues(name, "refused"),
			failed:  requests.WithLabelValues(name, "failed"),
			seconds: seconds.WithLabelValues(name),
		}
	}
	for c, name := range commandNames {
		m.commands[c] = of(name)
	}
	for _, e := range endings {
		m.ends[e.why] = closed.WithLabelValues(e.why)
	}
	return m
}

func (m *meters) of(c command) *meter {
	return cmp.Or(m.commands[c], m.commands[0])
}

func (m *meters) closed(why error) { m.ends[ended(why)].Inc() }
