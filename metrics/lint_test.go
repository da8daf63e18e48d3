package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestLint: names, units, types and help texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	problems := testenv.Must(testutil.GatherAndLint(registered(t,
		started(t, scheduler.Options{Processors: 2}))))
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
