package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/gen"
)

const (
	// readyTime is how long a server may take until it accepts.
	readyTime = 15 * time.Second
	// endTime is how long one may take to end after SIGTERM.
	endTime = 5 * time.Second
	// retryTime is between two attempts to connect.
	retryTime = 20 * time.Millisecond
)

// A serverCommand is a server that this program has started, in a process group
// of its own. It ends with this program, however that does.
type serverCommand struct {
	cmd    *exec.Cmd
	direct bool // cmd is the server itself, not a shell
	output bytes.Buffer
	ended  chan struct{}
}

// start starts cmd, bound to cpus from its first instruction on.
func start(cmd *exec.Cmd, cpus []int) (*serverCommand, error) {
	s := &serverCommand{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &s.output
	if cmd.Stdout == nil {
		cmd.Stdout = &s.output
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = endTime // what it leaves behind may hold its output open
	// A child inherits the affinity of the thread that forks it, and so Go's
	// default GOMAXPROCS in the child follows it too.
	release, err := cpulist.Bind(cpus)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	release()
	if err != nil {
		return nil, err
	}
	go func() {
		cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// startServer starts a command and waits until target accepts. If something
// accepts there already, that would be measured in its place.
func startServer(ctx context.Context, command, target string) (*serverCommand, error) {
	network, address, err := dialable(target)
	if err != nil {
		return nil, err
	}
	if network != "" && accepts(network, address) {
		return nil, fmt.Errorf("%s is in use before %q has started", address, command)
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, usagef("a command is empty")
	}
	// A shell's CPU is not the server's.
	direct := !strings.ContainsAny(command, "|&;<>()$`\\\"'*?[]~{}!\n") &&
		!strings.Contains(words[0], "=")
	if !direct {
		words = []string{"sh", "-c", command}
	}
	s, err := start(exec.Command(words[0], words[1:]...), nil)
	if err != nil {
		return nil, err
	}
	s.direct = direct
	if err := s.ready(ctx, network, address); err != nil {
		return nil, s.explain(command, err)
	}
	return s, nil
}

// startOwn starts this program as a server, in a cgroup and with a GOMAXPROCS
// if these are given, and returns the URL at which the server says it accepts.
func startOwn(ctx context.Context, cgroup string, procs int, cpus []int,
	args []string) (*serverCommand, string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	line, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer line.Close()
	cmd := exec.Command(exe, args...)
	if cgroup != "" {
		// The server's Go runtime finds the quota in place when it starts.
		cmd = exec.Command("sh", append([]string{"-c",
			`echo 0 >"$0/cgroup.procs" && exec "$@"`, cgroup, exe}, args...)...)
	}
	cmd.Stdout = w
	if procs > 0 {
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	}
	s, err := start(cmd, cpus)
	w.Close()
	if err != nil {
		return nil, "", err
	}
	s.direct = true
	defer context.AfterFunc(ctx, func() { line.SetReadDeadline(time.Unix(1, 0)) })()
	line.SetReadDeadline(time.Now().Add(readyTime))
	address, err := bufio.NewReader(line).ReadString('\n')
	if err != nil {
		err = s.explain(args[1], errors.Join(errors.New("it does not say where it accepts"), err))
		return nil, "", errors.Join(ctx.Err(), err)
	}
	return s, "tcp://" + strings.TrimSpace(address), nil
}

// explain ends the server and adds its output to an error.
func (s *serverCommand) explain(name string, err error) error {
	s.stop()
	return fmt.Errorf("%q: %w: %.300s", name, err, strings.TrimSpace(s.output.String()))
}

// ready waits until the server accepts. With no connections to accept, it gives
// the server a moment.
func (s *serverCommand) ready(ctx context.Context, network, address string) error {
	deadline := time.Now().Add(readyTime)
	if network == "" {
		deadline = time.Now().Add(10 * retryTime)
	}
	for {
		select {
		case <-s.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryTime):
		}
		late := time.Now().After(deadline)
		switch {
		case network == "" && late:
			return nil
		case network == "":
		case accepts(network, address):
			return nil
		case late:
			return fmt.Errorf("%s does not accept after %v", address, readyTime)
		}
	}
}

func (s *serverCommand) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stop ends the server and what it has started.
func (s *serverCommand) stop() {
	group := -s.cmd.Process.Pid
	syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(endTime):
	}
	syscall.Kill(group, syscall.SIGKILL)
	<-s.ended
}

func accepts(network, address string) bool {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// dialable returns where a target accepts connections, no network if it has
// none.
func dialable(target string) (network, address string, err error) {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return "", "", usagef("%v", err)
	case u.Scheme == "unix":
		return "unix", u.Path, nil
	case u.Scheme == "udp":
		return "", "", nil
	}
	port := u.Port()
	if port == "" {
		port = gen.DefaultPorts[u.Scheme]
	}
	if port == "" {
		return "", "", usagef("%s names no port", target)
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port), nil
}
