package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRound: a round against a server that is built here finds a rate and
// latencies in order, with every generator that is installed.
func TestRound(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU: server and generator are bound to one each")
	}
	dir := t.TempDir()
	if err := build(dir); err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if missing := p.missing(); missing != "" {
			t.Logf("%s: %s is not installed", p.name, missing)
			continue
		}
		for _, generator := range []string{ours, p.other} {
			f, err := p.round(dir, generator, 100*time.Millisecond, 4)
			if err != nil || f.rate <= 0 || f.p50 <= 0 || f.p99 < f.p50 || f.cpu <= 0 {
				t.Errorf("%s, %s: %+v, %v", p.name, generator, f, err)
			}
		}
	}
}

// TestOurs: the same with netco-bench alone, which needs nothing installed.
func TestOurs(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU: server and generator are bound to one each")
	}
	dir := t.TempDir()
	if err := build(dir); err != nil {
		t.Fatal(err)
	}
	p := pair{server: netHTTP, loads: pairs[0].loads}
	f, err := p.round(dir, ours, 100*time.Millisecond, 4)
	if err != nil || f.rate <= 0 || f.p50 <= 0 || f.p99 < f.p50 || f.cpu <= 0 {
		t.Errorf("%+v, %v", f, err)
	}
	p.server = func(string, string) []string { return []string{filepath.Join(dir, "none")} }
	if _, err := p.round(dir, ours, 100*time.Millisecond, 4); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("a server that does not start: %v", err)
	}
}

func TestMedians(t *testing.T) {
	got := medianOf([]found{{rate: 3, p50: 1000}, {rate: 1, p50: 3000}, {rate: 2, p99: 5000}, {cpu: 1}})
	if want := [4]float64{1.5, 0.5, 0, 0}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
