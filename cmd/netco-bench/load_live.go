package main

import (
	"fmt"
	"io"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

const liveEvery = 250 * time.Millisecond

// liveView prints a line for each second of a run while it runs.
type liveView struct {
	w     io.Writer
	shown int // seconds
}

func (v *liveView) show(seconds []result.Second) {
	for _, s := range seconds {
		if s.At < v.shown {
			continue
		}
		v.shown = s.At + 1
		if s.Requests == 0 {
			fmt.Fprintf(v.w, "%4ds %10s/s  errors %d\n", s.At+1, "0", s.Errors)
			continue
		}
		fmt.Fprintf(v.w, "%4ds %10s/s  p50 %-8s p99 %-8s max %-8s errors %d\n", s.At+1,
			countText(s.Requests), latencyText(s.P50), latencyText(s.P99), latencyText(s.Max),
			s.Errors)
	}
}
