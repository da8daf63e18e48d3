package scheduler_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
)

// runC builds a program of testdata that has C in it, and returns what it
// prints. It is a program of its own, as tests cannot have C and the package
// must not need it.
func runC(t *testing.T, name string) string {
	t.Helper()
	t.Parallel()
	testenv.Long(t) // it builds a program
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output(); err != nil ||
		strings.TrimSpace(string(out)) != "1" {
		t.Skipf("cgo is not enabled, or there is no go command: %q, %v", out, err)
	}
	exe := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(ctx, "go", "build", "-o", exe, "./testdata/"+name)
	if out, err := build.CombinedOutput(); strings.Contains(string(out), "C compiler") {
		t.Skipf("%s", out)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := testenv.Must(testenv.Output(exec.CommandContext(ctx, exe)))
	return out
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
