package main

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestThreads: each way, every coroutine has had all its turns.
func TestThreads(t *testing.T) {
	var out strings.Builder
	*threads, *each, *turns = 3, 4, 5
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, way := range []string{"by hand", "a loop", "scheduled"} {
		want += way + ": 12 coroutines on 3 threads ran 60 times\n"
	}
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
