package context

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/netco-go/netco/internal/goruntime"
)

// The backends' names, as NETCO_CONTEXT and Backend spell them.
const (
	BackendAsm      = "asm"
	BackendPortable = "portable"
)

// EnvVar is the environment variable that forces a backend.
const EnvVar = "NETCO_CONTEXT"

// direct is true with the assembly backend. Written once, at init.
var direct bool

// reason is the line that BackendReason returns.
var reason = selectBackend(os.Getenv(EnvVar), os.Stderr, tryAsm)

// logsReads says whether go test runs this process and logs which environment
// variables the tests read, to know when a cached result is valid.
var logsReads = slices.ContainsFunc(os.Args, func(arg string) bool {
	return strings.HasPrefix(arg, "-test.testlogfile=")
})

// record reads EnvVar for go test's log, which had not begun at init. It is
// called where the backend matters.
func record() {
	if logsReads {
		os.Getenv(EnvVar)
	}
}

// Backend returns the backend in use: "asm" or "portable".
func Backend() string {
	record()
	if direct {
		return BackendAsm
	}
	return BackendPortable
}

// BackendReason says in one line why the backend in use was selected.
func BackendReason() string { return reason }

// Direct reports whether any goroutine that a context's own goroutine has
// called into can suspend the context, and another goroutine can replace its
// resumer. With the assembly backend both are true.
func Direct() bool { return direct }

// selectBackend sets direct, by try, and returns the reason. It reports a wrong
// setting, and a portable backend that was not asked for, to stderr in one line
// each.
func selectBackend(env string, stderr io.Writer, try func(anyRelease bool) error) string {
	switch env {
	case "", BackendAsm:
	case BackendPortable:
		return EnvVar + "=" + BackendPortable
	default:
		fmt.Fprintf(stderr, "netco: %s=%q is neither %q nor %q; using the default\n",
			EnvVar, env, BackendAsm, BackendPortable)
	}
	err := try(env == BackendAsm)
	if err == nil {
		return "self-test passed"
	}
	if env == BackendAsm {
		fmt.Fprintf(stderr, "netco: %s=%s cannot be had: %v; using %s\n", EnvVar, env, err,
			BackendPortable)
	} else {
		fmt.Fprintf(stderr, "netco: %v; using the %s backend, which switches slower (%s=%s "+
			"silences this line)\n",
			err, BackendPortable, EnvVar, BackendPortable)
	}
	return err.Error()
}

// tryAsm selects the assembly backend if it is sound here.
func tryAsm(anyRelease bool) error {
	if err := goruntime.Verified(); err != nil && !anyRelease {
		return err
	}
	if err := goruntime.LinkCoro(); err != nil {
		return err
	}
	direct = true
	if err := selfTest(); err != nil {
		direct = false
		return err
	}
	return nil
}
