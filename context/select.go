package context

import (
	"fmt"
	"os"

	"github.com/netco-go/netco/internal/goruntime"
)

// The backends' names, as NETCO_CONTEXT and Backend spell them.
const (
	BackendAsm      = "asm"
	BackendPortable = "portable"
)

// EnvVar is the environment variable that forces a backend.
const EnvVar = "NETCO_CONTEXT"

// symmetric is true with the assembly backend. Written once, at init.
var symmetric bool

// reason says why the backend is the one it is.
var reason = selectBackend(os.Getenv(EnvVar), os.Stderr)

// Backend returns the backend in use: "asm" or "portable".
func Backend() string {
	if symmetric {
		return BackendAsm
	}
	return BackendPortable
}

// BackendReason says in one line why the backend in use was selected.
func BackendReason() string { return reason }

// Symmetric reports whether one context can transfer to another without passing the loop.
func Symmetric() bool { return symmetric }

// selectBackend sets symmetric and returns the reason. A wrong or unusable setting is reported to stderr.
func selectBackend(env string, stderr *os.File) string {
	forced := false
	switch env {
	case "":
	case BackendAsm:
		forced = true
	case BackendPortable:
		return EnvVar + "=" + BackendPortable
	default:
		fmt.Fprintf(stderr, "netco: %s=%q is neither %q nor %q; using the default\n",
			EnvVar, env, BackendAsm, BackendPortable)
	}
	err := tryAsm(forced)
	if err == nil {
		return "self-test passed"
	}
	if forced {
		fmt.Fprintf(stderr, "netco: %s=%s cannot be had: %v; using %s\n", EnvVar, env, err, BackendPortable)
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
	symmetric = true
	if err := selfTest(); err != nil {
		symmetric = false
		return err
	}
	return nil
}
