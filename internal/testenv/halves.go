package testenv

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Halves is Main for a package with many tests that wait and cannot run at once
// in one process: all but those that a command line chooses are run by two
// processes, side by side.
func Halves(m *testing.M) {
	Parallel()
	second, err := startSecond()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		os.Exit(1)
	}
	code := run(m)
	if second != nil {
		err := second.Wait()
		print(second.Stdout.(*bytes.Buffer).Bytes())
		if err != nil {
			fmt.Fprintln(os.Stderr, "testenv: the other half of the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// startSecond starts a process that runs every second test, has this one skip
// them, and returns it; or nil if this one is to run what its command line
// selects.
func startSecond() (*exec.Cmd, error) {
	for _, name := range []string{"test.run", "test.skip", "test.cpuprofile", "test.memprofile",
		"test.trace"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return nil, nil
		}
	}
	if special() {
		return nil, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	list, err := exec.Command(exe, "-test.list", ".").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests: %w", err)
	}
	var its []string
	for i, name := range strings.Fields(string(list)) {
		if i%2 == 1 {
			its = append(its, name)
		}
	}
	if len(its) == 0 {
		return nil, nil
	}
	pattern := "^(" + strings.Join(its, "|") + ")$"
	if err := flag.Set("test.skip", pattern); err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.testlogfile=") { // which is this process's
			cmd.Args = append(cmd.Args, arg)
		}
	}
	cmd.Args = append(cmd.Args, "-test.run="+pattern)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, cmd.Start()
}

// print writes to stdout, which may be a pipe that is not blocking.
func print(text []byte) {
	for len(text) > 0 {
		n, err := unix.Write(unix.Stdout, text)
		switch {
		case err == nil:
			text = text[n:]
		case err == unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(unix.Stdout), Events: unix.POLLOUT}}, -1)
		case err != unix.EINTR:
			fmt.Fprintln(os.Stderr, "testenv:", err)
			return
		}
	}
}
