package main

import (
	"os"
	"slices"
	"testing"
	"time"
)

// TestReportNamesNoFolder: a report can be published as it is; where on the
// machine the program was is nothing that a figure depends on.
func TestReportNamesNoFolder(t *testing.T) {
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	os.Args = []string{"/home/me/bin/netco-bench", "switch", "-rounds", "1"}
	want := []string{"netco-bench", "switch", "-rounds", "1"}
	if got := newEnvironment(time.Now()).Command; !slices.Equal(got, want) {
		t.Errorf("the report's command is %q, want %q", got, want)
	}
}
