package metrics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/metrics"
	"github.com/netco-go/netco/scheduler"
)

// A daemon would give the registry to promhttp.HandlerFor and serve that by
// net/http; see examples/echo.
func ExampleRegister() {
	s, err := scheduler.New(scheduler.Options{Processors: 1})
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if err := metrics.Register(registry, s); err != nil {
		log.Fatal(err)
	}
	if err := s.Start(); err != nil {
		log.Fatal(err)
	}
	s.Run(scheduler.Spawn{Fn: func() { s.Go(func() {}) }})
	s.Shutdown(context.Background())

	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		switch f.GetName() {
		case "netco_coroutines_started_total", "netco_coroutines_ended_total":
			m := f.Metric[0]
			fmt.Printf("%s{processor=%q} %g\n", f.GetName(), m.Label[0].GetValue(),
				m.Counter.GetValue())
		}
	}
	// Output:
	// netco_coroutines_ended_total{processor="0"} 2
	// netco_coroutines_started_total{processor="0"} 2
}
