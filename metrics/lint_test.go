package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/netco-go/netco/scheduler"
)

// TestLint: names, units, types and help texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	problems,
		err := testutil.GatherAndLint(registered(t, started(t, scheduler.Options{Processors: 2})))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
