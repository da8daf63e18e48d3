package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// TestSleepers lets a few sleep and wants plausible figures.
func TestSleepers(t *testing.T) {
	c := sleepersConfig{n: 3000, sleep: 300 * time.Millisecond, processors: 2}
	r, err := sleepAll(t.Context(), c)
	switch {
	case err != nil:
		t.Fatal(err)
	case r.Late["p0"] < 0:
		t.Errorf("woken early: %v", r.Late)
	case r.Ended < r.LastWake || r.LastWake < 300*time.Millisecond || r.Start <= 0 ||
		r.Asleep <= 0 || r.PeakRSS < r.RSS || r.RSS <= 0:
		t.Errorf("%+v", r)
	}
	var out bytes.Buffer
	r.print(&out, c)
	for _, line := range []string{"3000 coroutines, each asleep for 300ms", "peak RSS",
		"all ended after"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in %q", line, out.String())
		}
	}
}

// TestSleepersInterrupted ends those that still sleep.
func TestSleepersInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	if code := run(ctx, []string{"sleepers", "-n", "1000", "-sleep", "1h"}, &out,
		&out); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	for _, args := range []string{"-n 0", "-sleep 0s", "-processors -1"} {
		if code := run(context.Background(), append([]string{"sleepers"}, strings.Fields(args)...),
			&out, &out); code != exitUsage {
			t.Errorf("%s: exit code %d, want %d", args, code, exitUsage)
		}
	}
}
