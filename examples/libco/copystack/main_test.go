package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestMany: all of them wait at a time, each with a stack, and take less than
// libco's stacks by far.
func TestMany(t *testing.T) {
	const n = 10_000
	var out strings.Builder
	if err := run(&out, n); err != nil {
		t.Fatal(err)
	}
	var got, mib, each int
	if _, err := fmt.Sscanf(out.String(), "%d coroutines wait: %d MiB, %d bytes each", &got, &mib,
		&each); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if got != n || each < 1<<10 || each > 64<<10 { // the race detector has 30 KiB for each
		t.Errorf("%d coroutines of %d bytes, want %d of 1 to 64 KiB", got, each, n)
	}
	if !strings.Contains(out.String(), "\nafter their end: ") {
		t.Errorf("it said\n%s", out.String())
	}
}
