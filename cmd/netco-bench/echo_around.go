package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cgroup"
)

// surround sets up what -quota and -busy ask for; undo ends it.
func (c *echoConfig) surround() (undo func() error, err error) {
	var group *cgroup.Group
	if c.Quota > 0 {
		if group, err = cgroup.New(c.Quota); err != nil {
			return nil, fmt.Errorf("-quota: %w", err)
		}
		c.cgroup = group.Dir()
	}
	stopBusy, err := startBusy(c.Busy)
	undo = func() error {
		stopBusy()
		if group == nil {
			return nil
		}
		return group.Remove()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-busy: %w", err), undo())
	}
	return undo, nil
}

// startBusy starts n processes that do nothing but use their time slices. stop
// ends those that were started, also after an error.
func startBusy(n int) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return stop, err
	}
	for range n {
		cmd := exec.Command(exe, "busy")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return stop, err
		}
		started = append(started, cmd)
	}
	return stop, nil
}

// runBusy is a process of -busy, hidden from the usage.
func runBusy(ctx context.Context, _ []string, _, _ io.Writer) error {
	for ctx.Err() == nil {
	}
	return nil
}

// runWithin enters the cgroup that its first argument names and becomes this
// program with the others, so that a server's Go runtime finds the quota in
// place when it starts. It is hidden from the usage.
func runWithin(_ context.Context, args []string, _, _ io.Writer) error {
	if len(args) < 2 {
		return usagef("a cgroup and a command are needed")
	}
	if err := cgroup.Enter(args[0]); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(exe, append([]string{exe}, args[1:]...), os.Environ())
}
