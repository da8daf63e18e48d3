package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/metrics"
)

// metricsServer serves /metrics by net/http, on ordinary goroutines: it answers
// also when every Processor is held up.
type metricsServer struct {
	http.Server
	ended chan error
}

// serveMetrics begins to serve on addr, and prints where that is.
func serveMetrics(addr string) (*metricsServer, error) {
	s, err := netco.Default()
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := metrics.Register(registry, s); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	fmt.Printf("metrics on http://%s/metrics\n", ln.Addr())
	mux := http.NewServeMux()
	mux.Handle("/metrics",
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	m := &metricsServer{Server: http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
		ended: make(chan error, 1)}
	go func() { m.ended <- m.Serve(ln) }()
	return m, nil
}

// end lets scrapes that are under way finish, for a second.
func (m *metricsServer) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if m.Shutdown(ctx) != nil {
		m.Close()
	}
	<-m.ended
}
