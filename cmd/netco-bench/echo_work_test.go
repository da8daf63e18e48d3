package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestEchoWork: the servers compute what -work says, in each class, and the
// report has the classes' figures. A request of the second class computes for
// 2 ms; the bound leaves room for a machine that was slow when it was measured.
func TestEchoWork(t *testing.T) {
	warmedUp(t)
	noChildren(t)
	sameFiles(t)
	stdout, _, doc := measured(t, "echo -conns 4 -warmup 10ms -rounds 1 -verify -rate 500 "+
		"-arrival poisson -work 10us,2ms:0.25 -servers net,netco,netco-goroutines,net-deadlines", 4,
		func(r *echoRound) error {
			if len(r.Classes) != 2 || r.Classes[0].Requests == 0 || r.Classes[1].Requests == 0 {
				return fmt.Errorf("an empty class: %+v", r.Classes)
			}
			return nil
		})
	for _, want := range []string{"10µs:0.75,2ms:0.25 of work", "p90 µs",
		"the 75 % of the requests with 10µs of work", "the 25 % of the requests with 2ms of work",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	for _, r := range doc.Rounds {
		if r.Classes[0].Requests+r.Classes[1].Requests != r.Intended {
			t.Errorf("classes of %d requests: %+v", r.Intended, r.Classes)
		}
		if c := r.Classes[1]; c.P50Us < 500 || c.P50Us > c.P90Us || c.P90Us > c.P99Us {
			t.Errorf("%s: 2 ms of work took %+v", r.Server, c)
		}
	}
}
