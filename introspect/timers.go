package introspect

import "context"

// timers is the page "timers".
func (h *handler) timers(_ context.Context, q *query) (*timersJSON, error) {
	if q.err != nil {
		return nil, q.err
	}
	t := &timersJSON{Processors: []processorTimersJSON{}}
	for _, p := range h.src.processors() {
		l := h.src.lateness(p.Index)
		t.Processors = append(t.Processors, processorTimersJSON{
			Processor: p.Index, Pending: p.Timers, Fired: l.count,
			MeanNs: l.mean, P50Ns: l.p50, P90Ns: l.p90, P99Ns: l.p99, P999Ns: l.p999, MaxNs: l.max,
		})
	}
	return t, nil
}
