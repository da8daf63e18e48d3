// Package testenv stands for internal/testenv.
package testenv

import (
	"context"
	"os/exec"
	"testing"
)

func Builder() string { return "" }

func SkipFlaky(t testing.TB, issue int) {
	t.Helper()
	t.Skipf("flaky: Go issue %d", issue)
}

func MustHaveSource(testing.TB) {}

func GoToolPath(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	return path
}

func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	return CommandContext(t, context.Background(), name, args...)
}

func CommandContext(_ testing.TB, ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}
