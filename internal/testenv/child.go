package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childVar is the environment variable that names a process's child.
const childVar = "NETCO_TEST_CHILD"

// Children are programs that a test binary can run in place of its tests, for
// tests of a whole process. A TestMain calls Chosen before anything else; a
// test starts a child with Command.
type Children map[string]func()

// Chosen returns the child that this process is to run, or nil.
func (c Children) Chosen() func() { return c[os.Getenv(childVar)] }

// Command prepares a child, which finds the arguments in os.Args. It is killed
// if it has not ended in 3*Limit or by the end of the test.
func (c Children) Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	if c[name] == nil {
		t.Fatalf("no child %q", name)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*Limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), childVar+"="+name, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// Emulated skips a test if err says that the kernel cannot start the test's
// binary. Then the test runs under an emulator, which the kernel does not start
// for children.
func Emulated(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, unix.ENOEXEC) {
		t.Skip("this binary runs under an emulator, which the kernel does not start for its " +
			"children")
	}
}

// RunC builds a folder's program, which uses C, and returns its output. A test
// cannot use C itself, and a package must not need C.
func RunC(t testing.TB, folder string) string {
	t.Helper()
	Long(t) // it builds a program
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output(); err != nil ||
		strings.TrimSpace(string(out)) != "1" {
		t.Skipf("cgo is not enabled, or there is no go command: %q, %v", out, err)
	}
	exe := filepath.Join(t.TempDir(), filepath.Base(folder))
	build := exec.CommandContext(ctx, "go", "build", "-o", exe, folder)
	if out, err := build.CombinedOutput(); strings.Contains(string(out), "C compiler") {
		t.Skipf("%s", out)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return Must(Output(exec.CommandContext(ctx, exe)))
}

// ParsedTrace returns what is in the execution trace in a file, as text, or
// skips the test without a go command. It builds the go command's program for
// traces, as the standard library cannot read them; go tool trace would build
// it with other flags than the test has, and so most of the library first.
func ParsedTrace(t testing.TB, path string) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command, which reads traces, is not here")
	}
	out, err := exec.Command(tool, "run", "cmd/trace", "-d=parsed", path).CombinedOutput()
	if err != nil {
		t.Fatalf("the trace cannot be read: %v\n%.2000s", err, out[max(0, len(out)-2000):])
	}
	return string(out)
}

// Output runs a child to its end and returns its stdout. The error shows its
// stderr, where a child also complains that it cannot save its coverage.
func Output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%.3000s", err, exit.Stderr)
	}
	return string(out), err
}

// Fatal ends a child that has failed.
func Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}
