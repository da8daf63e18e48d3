package main

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/metrics"
)

// counts are all atomic.
type counts struct {
	clients                    atomic.Int64
	messages, dropped, origins atomic.Uint64
	ends                       [len(endings)]atomic.Uint64
}

// endings are the kinds of ending.
var endings = [...]string{"quit", "lost", "slow", "silent", "late", "malformed", "shutdown"}

func (c *counts) ended(kind string) {
	for i := range endings {
		if endings[i] == kind {
			c.ends[i].Add(1)
		}
	}
}

// metrics returns a page of this server's metrics and of netco's.
func (s *server) metrics() (http.Handler, error) {
	sched, err := netco.Default()
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	if err := metrics.Register(registry, sched); err != nil {
		return nil, err
	}
	counter := func(name, help string, n *atomic.Uint64, labels prometheus.Labels) {
		registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(n.Load()) }))
	}
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("chat_clients", "Clients that are connected.",
		func() float64 { return float64(s.counts.clients.Load()) })
	gauge("chat_rooms", "Rooms, empty ones among them.",
		func() float64 { return float64(len(s.list())) })
	counter("chat_messages_total", "Messages said.", &s.counts.messages, nil)
	counter("chat_dropped_total", "Messages that slow clients have not got.",
		&s.counts.dropped, nil)
	counter("chat_origins_refused_total", "WebSockets refused for the origin of their page.",
		&s.counts.origins, nil)
	for i, kind := range endings {
		counter("chat_ended_total", "Connections ended, by reason.", &s.counts.ends[i],
			prometheus.Labels{"why": kind})
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux, nil
}
