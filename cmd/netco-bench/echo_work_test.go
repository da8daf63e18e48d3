package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEchoWork: the servers compute what -work says, in each class, and the
// report has the classes' figures.
func TestEchoWork(t *testing.T) {
	warmedUp(t)
	noChildren(t)
	sameFiles(t)
	servers := "net,netco,netco-goroutines,net-deadlines"
	var stdout, stderr bytes.Buffer
	longEnough(t, func(duration string) error {
		stdout.Reset()
		stderr.Reset()
		file := filepath.Join(t.TempDir(), "out.json")
		args := "echo -conns 4 -warmup 10ms -rounds 1 -verify -rate 500 -arrival poisson " +
			"-work 10us,2ms:0.25 -servers " + servers + " -json " + file +
			" -duration " + duration
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != exitOK {
			return fmt.Errorf("exit code %d\n%s", code, &stderr)
		}
		return checkWork(t, file)
	})
	for _, want := range []string{"10µs:0.75,2ms:0.25 of work", "p90 µs",
		"the 75 % of the requests with 10µs of work", "the 25 % of the requests with 2ms of work",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
}

// checkWork: a request of the second class computes for 2 ms. The bound below
// leaves room for a machine that was slow when it was measured.
func checkWork(t *testing.T, file string) error {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Rounds []echoRound }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Rounds {
		if len(r.Classes) != 2 || r.Classes[0].Requests+r.Classes[1].Requests != r.Intended {
			t.Fatalf("classes of %d requests: %+v", r.Intended, r.Classes)
		}
		if r.Classes[0].Requests == 0 || r.Classes[1].Requests == 0 {
			return fmt.Errorf("an empty class: %+v", r.Classes)
		}
		if c := r.Classes[1]; c.P50Us < 500 || c.P50Us > c.P90Us || c.P90Us > c.P99Us {
			t.Errorf("%s: 2 ms of work took %+v", r.Server, c)
		}
	}
	return nil
}
