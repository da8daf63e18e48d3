package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSwitchEntriesRun(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range micros() {
		name := m.group + "/" + m.name
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		for _, n := range []int{1, 3, 50} {
			if m.run(n) <= 0 {
				t.Errorf("%s: no time for %d", name, n)
			}
		}
	}
}

func TestSwitchCommand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"switch", "-run", "yield|start", "-rounds", "2", "-duration", "2ms"}
	if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	for _, want := range []string{"runtime.Gosched", "netco, Yield among 1,000",
		"netco, Local, Join"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %s in\n%s", want, &stdout)
		}
	}
}

func TestPrintMicros(t *testing.T) {
	entries := []micro{{name: "a", group: "g"}, {name: "b", group: "g"}, {name: "c", group: "h"}}
	rounds := []microRound{
		{group: "g", name: "a", nsOp: 10}, {group: "g", name: "b", nsOp: 5},
		{group: "h", name: "c", nsOp: 7},
		{group: "g", name: "a", nsOp: 30}, {group: "g", name: "b", nsOp: 15},
		{group: "h", name: "c", nsOp: 7},
	}
	var out bytes.Buffer
	printMicros(&out, entries, rounds)
	for _, want := range [][]string{{"a", "20.0", "10.0", "30.0", "1.00"},
		{"b", "10.0", "5.0", "15.0", "0.50"}, {"c", "7.0", "7.0", "7.0", "1.00"}} {
		if !hasLine(out.String(), want) {
			t.Errorf("no line %v in\n%s", want, &out)
		}
	}
}

// calibrate goes by the wall clock, even for an entry that returns only a small
// part of it.
func TestCalibrate(t *testing.T) {
	m := micro{run: func(n int) time.Duration {
		spin(time.Duration(n) * 10 * time.Microsecond)
		return time.Duration(n)
	}}
	most := 0 // a process that is kept waiting meanwhile takes its own time for the entry's
	for try := 0; try < 50 && most < 200; try++ {
		n := calibrate(t.Context(), m, 20*time.Millisecond)
		if n > 2200 {
			t.Errorf("n = %d for 20 ms of 10 µs", n)
		}
		most = max(most, n)
	}
	if most < 200 {
		t.Errorf("n = %d for 20 ms of 10 µs", most)
	}
}

func hasLine(text string, fields []string) bool {
	for line := range strings.Lines(text) {
		got := strings.Fields(line)
		if len(got) >= len(fields) && slices.Equal(got[:len(fields)], fields) {
			return true
		}
	}
	return false
}
