package scheduler_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestCgoStall: a call of C that blocks. It is a program of its own, as tests cannot have C and the package must not need it.
func TestCgoStall(t *testing.T) {
	t.Parallel()
	testenv.Long(t) // it builds a program
	within(t, 5*time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Skipf("cgo is not enabled, or there is no go command: %q, %v", out, err)
	}
	exe := filepath.Join(t.TempDir(), "cgostall")
	build := exec.CommandContext(ctx, "go", "build", "-o", exe, "./testdata/cgostall")
	if out, err := build.CombinedOutput(); strings.Contains(string(out), "C compiler") {
		t.Skipf("%s", out)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, exe).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cause, rest, _ := strings.Cut(string(out), "\n")
	detail, stack, _ := strings.Cut(rest, "\n")
	if cause != scheduler.CauseCgo || !strings.Contains(detail, "_Cfunc_block") || !strings.Contains(stack, "main.callsC") {
		t.Errorf("%s", out)
	}
}
