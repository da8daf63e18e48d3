package metrics

import (
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// phases names the phases of a Scheduler in their order; from the second on
// they are the phases of package processor.
var phases = []string{"not_started", "running", "draining", "stopping", "stopped"}

// phase returns the index in phases of the current phase of s.
func phase(s *scheduler.Scheduler) int {
	if g := engine.Of(s).Group(); g != nil {
		return 1 + int(g.Phase()-processor.Running)
	}
	return 0
}

func active(s *scheduler.Scheduler) (n int) {
	for _, p := range engine.Of(s).Processors() {
		if p.IsActive() && phase(s) < len(phases)-1 {
			n++
		}
	}
	return n
}

// ofScheduler are the metrics of a Scheduler as a whole.
var ofScheduler = described([]family[*scheduler.Scheduler]{
	{name: "netco_processors", kind: gauge,
		help: "Processors, each of which runs coroutines one at a time; 0 before the Scheduler's " +
			"start.",
		read: func(s *scheduler.Scheduler, _ int) float64 { return float64(s.Processors()) }},
	{name: "netco_processors_active", kind: gauge,
		help: "Processors that get new work: at least Options.MinActive, and more when these " +
			"are busy.",
		read: func(s *scheduler.Scheduler, _ int) float64 { return float64(active(s)) }},
	{name: "netco_scheduler_phase", kind: gauge, label: "phase", values: phases,
		help: "1 for the phase that the Scheduler is in, 0 for the others.",
		read: func(s *scheduler.Scheduler, i int) float64 {
			if phase(s) == i {
				return 1
			}
			return 0
		}},
	{name: "netco_coroutines_refused_total", kind: count,
		help: "Coroutines that were not started because Options.MaxCoroutines were alive.",
		read: func(s *scheduler.Scheduler, _ int) float64 { return float64(s.Refused()) }},
})
