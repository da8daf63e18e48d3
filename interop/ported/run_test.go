package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

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
	r := &runner{binary: binary, dir: dir, quiet: 3 * time.Second}
	tests, err := r.list()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.run(tests)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]outcome{}
	for name, how := range got {
		outcomes[name] = how.outcome
	}
	want := map[string]outcome{
		"TestPass": passed, "TestFail": failed, "TestSkip": skipped, "TestPanic": crashed,
		"TestExit": crashed, "TestGoroutinePanic": crashed, "TestHang": hung, "TestLast": passed,
		"TestParallelHang": hung, "TestParallelPass": passed, "TestParallelVictim": passed,
	}
	if !maps.Equal(outcomes, want) {
		t.Errorf("got %v\nwant %v", outcomes, want)
	}
}
