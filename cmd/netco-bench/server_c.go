package main

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

//go:embed floor/echo.c
var floorSource string

// serveC is the floor that the others are measured against: one thread and one
// epoll, in C. This process becomes it; only an error returns.
func serveC(cfg serveConfig) (address string, err error) {
	path, err := compileFloor()
	if err != nil {
		return "", err
	}
	bin, err := syscall.Open(path, syscall.O_RDONLY, 0) // stays open over exec
	if err := errors.Join(err, os.RemoveAll(filepath.Dir(path))); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return "", err
	}
	args := []string{"netco-bench-c", host, strconv.Itoa(max(4096, cfg.Size)), port}
	return "", fmt.Errorf("exec: %w", syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", bin),
		args, os.Environ()))
}

// compileFloor returns the program's path, in a directory of its own.
func compileFloor() (path string, err error) {
	dir, err := os.MkdirTemp("", "netco-bench-c")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "echo")
	cc := exec.Command("cc", "-O2", "-Wall", "-x", "c", "-o", path, "-")
	cc.Stdin = strings.NewReader(floorSource)
	if out, err := cc.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("the C server needs a C compiler, cc: %w\n%s", err, out)
	}
	return path, nil
}
