package coroutine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
)

// LockedInitVar asks a child process of the tests to use coroutines in an init.
const LockedInitVar = "NETCO_TEST_LOCKED_INIT"

// LockedInInit is what TestMain does in such a process, and nothing else; nil
// in others.
var LockedInInit func()

// Retired reports whether a fiber waits for a goroutine that is locked to its
// thread as its creator was.
func Retired() bool {
	retiredMu.Lock()
	defer retiredMu.Unlock()
	return len(retired) > 0
}

// TestLockedInInit: a coroutine made in an init that has called LockOSThread,
// under a lock of the runtime's own besides, is refused in main, where only the
// former is left. Without that the runtime throws: "coro: OS thread locking
// must match".
func TestLockedInInit(t *testing.T) {
	exe := testenv.Must(os.Executable())
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), LockedInitVar+"=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this binary runs under an emulator, which the kernel does not start for its " +
			"children")
	}
	testenv.True(t, err == nil && strings.HasSuffix(string(out), "over\n") &&
		strings.Count(string(out), "\n") <= 1, "%v\n%s", err, out)
}

// TestInCallback: the same in callbacks from C, where the runtime locks, too.
// It is a program of its own, as tests cannot have C.
func TestInCallback(t *testing.T) {
	testenv.Long(t) // it builds a program
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output(); err != nil ||
		strings.TrimSpace(string(out)) != "1" {
		t.Skipf("cgo is not enabled, or there is no go command: %q, %v", out, err)
	}
	exe := filepath.Join(t.TempDir(), "cgofiber")
	build := exec.CommandContext(ctx, "go", "build", "-o", exe, "./testdata/cgofiber")
	if out, err := build.CombinedOutput(); strings.Contains(string(out), "C compiler") {
		t.Skipf("%s", out)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, exe).CombinedOutput()
	testenv.True(t, err == nil && string(out) == "over\n", "%v\n%s", err, out)
}
