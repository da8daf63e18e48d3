package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEvents(t *testing.T) {
	e := newEvents()
	for line := range strings.Lines(`~=== RUN   TestA
~=== PAUSE TestA
~=== RUN   TestB
~=== RUN   TestB/one
    b_test.go:1: no
~--- FAIL: TestB/one (0.00s)
~=== NAME  TestB
--- PASS: TestA (0.00s)
~--- FAIL: TestB (0.10s)
~=== NAME  
~=== RUN   TestC
~--- SKIP: TestC (0.00s)
~=== RUN   TestD
~=== PAUSE TestD
~=== RUN   TestE
~=== PAUSE TestE
~=== CONT  TestA
~=== CONT  TestD
~=== RUN   TestD/two
~=== PAUSE TestD/two
~--- PASS: TestA (0.00s)
`) {
		e.add(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "~", "\x16"))
	}
	want := map[string]outcome{"TestA": passed, "TestB": failed, "TestC": skipped}
	if !maps.Equal(e.outcomes, want) {
		t.Errorf("outcomes are %v, want %v", e.outcomes, want)
	}
	if !slices.Equal(e.running, []string{"TestD"}) || e.over {
		t.Errorf("running: %v, over: %v", e.running, e.over)
	}
	if got := strings.Join(e.output["TestB"], "\n"); !strings.Contains(got, "b_test.go:1: no") {
		t.Errorf("TestB has written %q", got)
	}
	if e.add("PASS"); !e.over {
		t.Error("not over")
	}
}

// TestRunner: tests that fail, hang or end the process are told from one
// another, and the others run all the same.
func TestRunner(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"runner.go.txt": "runner_test.go", "runner.mod.txt": "go.mod"}
	for from, to := range files {
		text, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "runner.test")
	if _, err := command(dir, "go", "test", "-c", "-o", binary, "."); err != nil {
		t.Fatal(err)
	}
	r := &runner{binary: binary, dir: dir, quiet: 3 * time.Second, log: io.Discard}
	tests, err := r.list()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.run(tests)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]outcome{
		"TestPass": passed, "TestFail": failed, "TestSkip": skipped, "TestPanic": failed,
		"TestExit": crashed, "TestGoroutinePanic": crashed, "TestHang": hung, "TestLast": passed,
		"TestParallelHang": hung, "TestParallelPass": passed, "TestParallelVictim": passed,
	}
	if !maps.Equal(got.outcomes, want) {
		t.Errorf("got %v\nwant %v", got.outcomes, want)
	}
}
