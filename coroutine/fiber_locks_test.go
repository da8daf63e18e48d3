package coroutine

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// LockedInitVar asks a child process of the tests to use coroutines in an init.
const LockedInitVar = "NETCO_TEST_LOCKED_INIT"

// LockedInInit is what TestMain does in such a process, and nothing else; nil
// in others.
var LockedInInit func()

// TestLockedInInit: a coroutine made in an init that has called LockOSThread,
// under a lock of the runtime's own besides, is refused in main, where only the
// former is left. Without that the runtime throws: "coro: OS thread locking
// must match".
func TestLockedInInit(t *testing.T) {
	exe := testenv.Must(os.Executable())
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), LockedInitVar+"=1")
	out, err := cmd.CombinedOutput()
	testenv.Emulated(t, err)
	testenv.True(t, err == nil && strings.HasSuffix(string(out), "over\n") &&
		strings.Count(string(out), "\n") <= 1, "%v\n%s", err, out)
}

// TestInCallback: the same in callbacks from C, where the runtime locks, too.
// It is a program of its own, as tests cannot have C.
func TestInCallback(t *testing.T) {
	testenv.Equal(t, testenv.RunC(t, "./testdata/cgofiber"), "over\n")
}
