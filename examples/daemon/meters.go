package main

import (
	"github.com/prometheus/client_golang/prometheus"
)

// meters are the daemon's own metrics. What netco itself counts comes from
// package metrics.
type meters struct {
	opened   prometheus.Counter
	ends     map[string]prometheus.Counter
	panics   prometheus.Counter
	commands map[command]*meter
	unknown  *meter
}

// meter is of one command. Its parts are looked up once, not for each request.
type meter struct {
	done, refused, failed prometheus.Counter
	seconds               prometheus.Observer
}

var commandNames = map[command]string{
	cmdEcho: "echo", cmdCompute: "compute", cmdHash: "hash", cmdStream: "stream",
	cmdFanOut: "fan-out", cmdFault: "fault",
}

// endings are all that [ended] can say.
var endings = []string{"end", "cut", "timeout", "bad", "memory", "shutdown", "panic", "reset"}

// newMeters registers the metrics. open is how many connections there are.
func newMeters(r prometheus.Registerer, maxConns int, open func() float64) (*meters, error) {
	m := &meters{
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "daemon_connections_opened_total", Help: "Connections accepted."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "daemon_panics_total",
			Help: "Requests that ended in a panic, and their connections with them."}),
		ends:     map[string]prometheus.Counter{},
		commands: map[command]*meter{},
	}
	closed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "daemon_connections_closed_total", Help: "Connections closed, by what ended them."},
		[]string{"why"})
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "daemon_requests_total",
		Help: "Requests, by command and result: done; refused, which tells the client why; " +
			"failed, which ends the connection."},
		[]string{"command", "result"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "daemon_request_seconds",
		Help:    "From a request's last byte to its answer's last one in the buffer.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 11)}, []string{"command"})
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "daemon_connections_open", Help: "Connections that are open."}, open)
	most := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "daemon_connections_max",
		Help: "Connections that may be open: -max-conns, as far as there are fds."})
	most.Set(float64(maxConns))
	for _, c := range []prometheus.Collector{m.opened, m.panics, closed, requests, seconds,
		gauge, most} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
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
	m.unknown = of("unknown")
	for _, why := range endings {
		m.ends[why] = closed.WithLabelValues(why)
	}
	return m, nil
}

func (m *meters) of(c command) *meter {
	if one := m.commands[c]; one != nil {
		return one
	}
	return m.unknown
}

func (m *meters) closed(why error) { m.ends[ended(why)].Inc() }
