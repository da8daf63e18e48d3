package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary stand in for the program: echo starts its
// servers as this executable with the argument serve.
func TestMain(m *testing.M) {
	for name, s := range faultyServers {
		echoServers[name], proxyServers[name] = s, s
	}
	if len(os.Args) > 1 {
		playPart(os.Args[1:])
	}
	roles := []string{"serve", "echo", "hold", "load"}
	if len(os.Args) > 1 && slices.Contains(roles, os.Args[1]) {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestDispatch(t *testing.T) {
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"", exitUsage, "", "Usage:"},
		{"help", exitOK, "echo", ""},
		{"-h", exitOK, "switch", ""},
		{"version", exitOK, "netco-bench ", ""},
		{"version x", exitUsage, "", `unexpected argument "x"`},
		{"nonsense", exitUsage, "", `unknown command "nonsense"`},
		{"echo -h", exitOK, "-conns", ""},
		{"switch -h", exitOK, "-rounds", ""},
		{"switch -run (", exitUsage, "", "-run"},
		{"switch -run nothing-like-it", exitUsage, "", "matches no entry"},
		{"switch -duration 1ns", exitUsage, "", "-duration"},
		{"serve", exitUsage, "", "want one of "},
		{"serve gopher", exitUsage, "", "netco-goroutines"},
		{"serve net -target x", exitUsage, "", "net-splice, netco"},
		{"serve net -addr nonsense", exitFailed, "", "nonsense"},
		{"serve net -work x", exitUsage, "", "is no number of rounds"},
		{"serve -h", exitOK, "SERVER [-addr", ""},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) ||
			!strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", c.args, code, c.code,
				&stdout, &stderr)
		}
	}
}
