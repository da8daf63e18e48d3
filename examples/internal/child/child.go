// Package child lets the test of a program run the program as a child process.
package child

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const variable = "NETCO_EXAMPLE_CHILD"

// Is reports whether this process is one that Command has made, in which
// TestMain is to call main.
func Is() bool { return os.Getenv(variable) != "" }

// Command is the program with these arguments.
func Command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), variable+"=1")
	return cmd
}

// Start starts the program and returns it, with the address that its first line
// says it listens on. It is killed at the end of the test, if it still runs.
func Start(t *testing.T, args ...string) (cmd *exec.Cmd, addr string) {
	t.Helper()
	return StartTo(t, os.Stderr, args...)
}

// StartTo is Start with what the program writes to stderr.
func StartTo(t *testing.T, stderr io.Writer, args ...string) (cmd *exec.Cmd, addr string) {
	t.Helper()
	cmd = Command(args...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, stderr)
	}
	return cmd, strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
}
