package main

import (
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netco-go/netco/cmd/netco-bench/internal/gen"
)

// loadCollector exports a run's live figures.
type loadCollector struct{ g *gen.Gen }

var (
	loadRequests = prometheus.NewDesc("netco_bench_requests_total",
		"Requests answered in the measured window.", nil, nil)
	loadErrors = prometheus.NewDesc("netco_bench_errors_total",
		"Failures by class, up to the last whole second.", []string{"class"}, nil)
	loadBytes = prometheus.NewDesc("netco_bench_bytes_total",
		"Bytes, up to the last whole second.", []string{"direction"}, nil)
	loadLatency = prometheus.NewDesc("netco_bench_latency_seconds",
		"Response time by quantile, over the window and of the last whole second.",
		[]string{"quantile", "over"}, nil)
)

func (c loadCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{loadRequests, loadErrors, loadBytes, loadLatency} {
		ch <- d
	}
}

func (c loadCollector) Collect(ch chan<- prometheus.Metric) {
	l := c.g.Live()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	send(loadRequests, prometheus.CounterValue, float64(l.Requests))
	for _, e := range l.Errors.Classes() {
		send(loadErrors, prometheus.CounterValue, float64(e.Count), e.Name)
	}
	send(loadBytes, prometheus.CounterValue, float64(l.BytesIn), "in")
	send(loadBytes, prometheus.CounterValue, float64(l.BytesOut), "out")
	quantiles := func(p gen.Percentiles, over string) {
		for _, q := range []struct {
			name string
			ns   int64
		}{{"0.5", p.P50}, {"0.99", p.P99}, {"0.999", p.P999}, {"1", p.Max}} {
			send(loadLatency, prometheus.GaugeValue, float64(q.ns)/1e9, q.name, over)
		}
	}
	quantiles(l.Whole, "window")
	if n := len(l.Seconds); n > 0 {
		quantiles(l.Seconds[n-1].Percentiles, "second")
	}
}

// serveMetrics serves a run's figures at /metrics of addr.
func serveMetrics(addr string, g *gen.Gen) (stop func(), err error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("-serve: %w", err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(loadCollector{g})
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux}
	go s.Serve(ln)
	return func() { s.Close() }, nil
}
