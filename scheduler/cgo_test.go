package scheduler_test

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
)

// runC is testenv.RunC in parallel with other tests.
func runC(t *testing.T, name string) string {
	t.Helper()
	t.Parallel()
	return testenv.RunC(t, "./testdata/"+name)
}

// TestCgoStall: the report of a stall in a call of C names the function.
func TestCgoStall(t *testing.T) {
	out := runC(t, "cgostall")
	cause, rest, _ := strings.Cut(out, "\n")
	detail, stack, _ := strings.Cut(rest, "\n")
	testenv.True(t, cause == diagnose.CauseCgo && strings.Contains(detail, "_Cfunc_block") &&
		strings.Contains(stack, "main.callsC"), "%s", out)
}

// TestCgoHandoff: a Processor runs on while one of its coroutines is blocked in
// C, and the coroutine rejoins it, several times over.
func TestCgoHandoff(t *testing.T) {
	needHandoff(t)
	testenv.Equal(t, runC(t, "cgohandoff"), "handed on\n")
}
