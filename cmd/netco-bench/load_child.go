package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/cmd/netco-bench/internal/cpulist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// A loader measures one load, given the arguments of netco-bench load.
type loader func(ctx context.Context, args []string) (*result.Result, error)

// drainTime is how long an interrupted load may take to write what it has.
const drainTime = 10 * time.Second

// loadOn returns a loader that is bound to cpus, if there are any.
func loadOn(cpus []int) loader {
	return func(ctx context.Context, args []string) (*result.Result, error) {
		return loadInChild(ctx, cpus, args)
	}
}

// loadInChild runs netco-bench load as a process of its own, so that nothing of
// one round is left in the next: no heap, no connections, no threads. What was
// measured before an error is returned with it.
func loadInChild(ctx context.Context, cpus []int, args []string) (*result.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "netco-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "result.json")
	cmd := exec.CommandContext(ctx, self, slices.Concat([]string{"load", "-q", "-json", file},
		args)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGINT) }
	cmd.WaitDelay = drainTime
	release, err := cpulist.Bind(cpus)
	if err != nil {
		return nil, err
	}
	failure := cmd.Start()
	release()
	if failure == nil {
		failure = cmd.Wait()
	}
	s, err := readSaved(file)
	r := s.load
	switch {
	case err != nil && failure != nil:
		return nil, fmt.Errorf("load: %s", cmp.Or(complaint(stderr.String()), failure.Error()))
	case err != nil:
		return nil, err
	}
	r.Args = args
	switch {
	case ctx.Err() != nil:
		r.Interrupted = true
		return r, nil
	case r.Failure != "":
		return r, errors.New(r.Failure)
	}
	return r, nil // a threshold that is broken is in r
}

// complaint returns the line in which load says why it has failed, or else the
// first.
func complaint(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "netco-bench load: "); ok {
			return text
		}
	}
	return lines[0]
}

// parseWithLoad parses a command's own flags, and returns the arguments of load
// and what is measured.
func parseWithLoad(fs *flag.FlagSet, usage string, args []string, stdout io.Writer) (load,
	targets []string, err error) {
	own := map[string]bool{"h": false, "help": false}
	fs.VisitAll(func(f *flag.Flag) {
		b, ok := f.Value.(interface{ IsBoolFlag() bool })
		own[f.Name] = !ok || !b.IsBoolFlag()
	})
	mine, load, targets, err := splitLoad(args, own)
	if err == nil {
		_, err = parseAround(fs, usage, mine, stdout)
	}
	return load, targets, err
}

// splitLoad parts a command line into a command's own flags, the arguments of
// load, and what is measured: URLs and files. Flags that are not the command's
// are load's, in any order; own says of the command's whether they take values.
func splitLoad(args []string, own map[string]bool) (mine, load, targets []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, _, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		takesValue, isMine := own[name]
		switch {
		case len(arg) > 1 && arg[0] == '-' && isMine:
			mine = append(mine, arg)
			if takesValue && !hasValue && i+1 < len(args) {
				i++
				mine = append(mine, args[i])
			}
		case len(arg) > 1 && arg[0] == '-':
			load = append(load, arg)
		case isTarget(arg):
			targets = append(targets, arg)
		case len(load) > 0 && load[len(load)-1][0] == '-':
			load = append(load, arg) // the value of that flag
		default:
			return nil, nil, nil, usagef("%q is neither a target (such as tcp://127.0.0.1:8080), "+
				"nor a result's file (.json), nor a flag", arg)
		}
	}
	return mine, load, targets, nil
}

func isFile(arg string) bool { return strings.HasSuffix(arg, ".json") }

// isTarget reports whether an argument is a URL or the names of results' files.
func isTarget(arg string) bool {
	scheme, _, ok := strings.Cut(arg, "://")
	letter := func(r rune) bool { return r < 'a' || r > 'z' }
	return ok && scheme != "" && !strings.ContainsFunc(strings.TrimRight(scheme, "0123456789"),
		letter) || isFile(arg)
}

// refuseFlags returns an error if one of flags, which a command sets itself or
// has no use for, is among load's arguments.
func refuseFlags(load []string, why string, flags ...string) error {
	for _, arg := range load {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg[0] == '-' && slices.Contains(flags, name) {
			return usagef("-%s: %s", name, why)
		}
	}
	return nil
}
