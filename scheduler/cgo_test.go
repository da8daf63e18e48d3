package scheduler_test

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
)

// runC is testenv.RunC beside other tests.
func runC(t *testing.T, name string) string {
	t.Helper()
	t.Parallel()
	return testenv.RunC(t, "./testdata/"+name)
}

// TestCgoStall: a call of C that blocks.
func TestCgoStall(t *testing.T) {
	out := runC(t, "cgostall")
	cause, rest, _ := strings.Cut(out, "\n")
	detail, stack, _ := strings.Cut(rest, "\n")
	testenv.True(t, cause == diagnose.CauseCgo && strings.Contains(detail, "_Cfunc_block") &&
		strings.Contains(stack, "main.callsC"), "%s", out)
}

// TestCgoHandoff: while a coroutine is blocked in C its Processor goes on, and
// afterwards it is a coroutine as any other, several times over.
func TestCgoHandoff(t *testing.T) {
	needHandoff(t)
	testenv.Equal(t, runC(t, "cgohandoff"), "handed on\n")
}
