package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

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
		"Response time in the measured window, up to the last whole second.", nil, nil)
	loadSecond = prometheus.NewDesc("netco_bench_last_second_latency_seconds",
		"Response time by percentile in the last whole second.", []string{"percentile"}, nil)
)

func (c loadCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{loadRequests, loadErrors, loadBytes, loadLatency,
		loadSecond} {
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
	p := l.Whole
	ch <- prometheus.MustNewConstSummary(loadLatency, l.WholeCount, l.WholeSum/1e9,
		map[float64]float64{0.5: seconds(p.P50), 0.99: seconds(p.P99), 0.999: seconds(p.P999),
			1: seconds(p.Max)})
	if n := len(l.Seconds); n > 0 {
		p := l.Seconds[n-1].Percentiles
		send(loadSecond, prometheus.GaugeValue, seconds(p.P50), "50")
		send(loadSecond, prometheus.GaugeValue, seconds(p.P99), "99")
		send(loadSecond, prometheus.GaugeValue, seconds(p.P999), "99.9")
		send(loadSecond, prometheus.GaugeValue, seconds(p.Max), "100")
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

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
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(ln)
	return func() { s.Close() }, nil
}
