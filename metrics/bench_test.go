package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netco-go/netco/scheduler"
)

// BenchmarkCollect is one scrape of a Scheduler as the collector sees it. The
// registry's part, and what it takes to write the text, comes on top: see
// BenchmarkGather.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{1, 2, 64} {
		b.Run(fmt.Sprintf("processors=%d", n), func(b *testing.B) {
			c := NewCollector(started(b, scheduler.Options{Processors: n}))
			b.ReportAllocs()
			for b.Loop() {
				drain(c)
			}
		})
	}
}

// BenchmarkGather is a scrape up to where it would be written as text or
// protobuf.
func BenchmarkGather(b *testing.B) {
	for _, n := range []int{1, 2, 64} {
		b.Run(fmt.Sprintf("processors=%d", n), func(b *testing.B) {
			r := prometheus.NewRegistry()
			if err := Register(r, started(b, scheduler.Options{Processors: n})); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// drain collects into a channel of the registry's size and returns how many
// metrics came.
func drain(c prometheus.Collector) (n int) {
	ch := make(chan prometheus.Metric, 1000)
	go func() {
		c.Collect(ch)
		close(ch)
	}()
	for range ch {
		n++
	}
	return n
}
