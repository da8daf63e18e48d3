package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// readyTime is how long a server may take until it accepts.
	readyTime = 15 * time.Second
	// endTime is how long one may take to end after SIGTERM.
	endTime = 5 * time.Second
	// retryTime is between two attempts to connect.
	retryTime = 20 * time.Millisecond
)

// A serverCommand is a server that compare has started, in a process group of
// its own.
type serverCommand struct {
	cmd    *exec.Cmd
	direct bool // cmd is the server itself, not a shell
	output bytes.Buffer
	ended  chan struct{}
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
	s := &serverCommand{ended: make(chan struct{})}
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, usagef("a command is empty")
	}
	// A shell's CPU is not the server's.
	s.direct = !strings.ContainsAny(command, "|&;<>()$`\\\"'*?[]~{}!\n") &&
		!strings.Contains(words[0], "=")
	if s.direct {
		s.cmd = exec.Command(words[0], words[1:]...)
	} else {
		s.cmd = exec.Command("sh", "-c", command)
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	s.cmd.WaitDelay = endTime // what it leaves behind may hold its output open
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	if err := s.ready(ctx, network, address); err != nil {
		s.stop()
		return nil, fmt.Errorf("%q: %w: %.300s", command, err, strings.TrimSpace(s.output.String()))
	}
	return s, nil
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

// ports are those that a URL need not name.
var ports = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443", "h2": "80",
	"redis": "6379"}

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
		port = ports[u.Scheme]
	}
	if port == "" {
		return "", "", usagef("%s names no port", target)
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port), nil
}
