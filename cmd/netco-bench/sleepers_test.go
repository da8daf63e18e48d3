package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSleepers lets a few sleep and wants plausible figures.
func TestSleepers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	var out bytes.Buffer
	args := []string{"sleepers", "-n", "3000", "-sleep", "300ms", "-processors",
		"2", "-json", file}
	if code := run(context.Background(), args, &out, os.Stderr); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, line := range []string{"peak RSS", "all ended after"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in %q", line, out.String())
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Config sleepersConfig   `json:"config"`
		Rounds []sleepersResult `json:"rounds"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Rounds) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	switch r := doc.Rounds[0]; {
	case doc.Config.N != 3000 || doc.Config.Sleep != 300*time.Millisecond:
		t.Errorf("config %+v", doc.Config)
	case r.Late["p0"] < 0:
		t.Errorf("woken early: %v", r.Late)
	case r.Ended < r.LastWake || r.LastWake < 300*time.Millisecond || r.Start <= 0 ||
		r.Asleep <= 0 || r.PeakRSS < r.RSS || r.RSS <= 0:
		t.Errorf("%+v", r)
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
