package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestClosures: each function has run once, with its own variables, before the
// batch was over.
func TestClosures(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := got[len(got)-1]; last != "done: [0 1 2 3 4 5 6 7 8 9]" {
		t.Errorf("it ends with %q", last)
	}
	var want []string
	for _, i := range "0123456789" {
		want = append(want, "total 100 i "+string(i))
	}
	want = append(want, "i 0 j 0", "i 0 j 1", "i 1 j 0", "i 1 j 1")
	slices.Sort(want)
	got = got[:len(got)-1]
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
