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

	"github.com/netco-go/netco/internal/goruntime"
)

// Split is Main for a package with many tests that wait and cannot run at once
// in one process. Several processes run the tests side by side, unless the
// command line selects tests. Under the race detector, which keeps the CPUs
// busy, half as many processes do.
func Split(m *testing.M, processes int) {
	Parallel()
	if goruntime.RaceEnabled {
		processes = max(1, processes/2)
	}
	others, err := startOthers(processes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		os.Exit(1)
	}
	code := run(m)
	for _, other := range others {
		err := other.Wait()
		print(other.Stdout.(*bytes.Buffer).Bytes())
		if err != nil {
			fmt.Fprintln(os.Stderr, "testenv: another part of the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// startOthers starts and returns processes-1 processes, which share the tests
// with this process, and has this process skip their tests. It returns none if
// this process is to run the tests that its command line selects.
func startOthers(processes int) (others []*exec.Cmd, err error) {
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
	names := strings.Fields(string(list))
	var skipped []string
	for part := 1; part < min(processes, len(names)); part++ {
		var its []string
		for i := part; i < len(names); i += processes {
			its = append(its, names[i])
		}
		skipped = append(skipped, its...)
		cmd := exec.Command(exe)
		for _, arg := range os.Args[1:] {
			if !strings.HasPrefix(arg, "-test.testlogfile=") { // that file is this process's
				cmd.Args = append(cmd.Args, arg)
			}
		}
		cmd.Args = append(cmd.Args, "-test.run="+only(its))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		others = append(others, cmd)
	}
	if len(others) == 0 {
		return nil, nil
	}
	return others, flag.Set("test.skip", only(skipped))
}

// only returns a pattern that matches these tests.
func only(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

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
