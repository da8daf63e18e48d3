package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// outcome is how a test ended.
type outcome string

const (
	passed  outcome = "passed"
	skipped outcome = "skipped"
	failed  outcome = "failed"
	hung    outcome = "hung"
	crashed outcome = "ended the process"
)

// results are the outcomes of a package's tests by their names. Subtests are
// part of their test.
type results struct {
	outcomes map[string]outcome
	output   map[string][]string
}

// runner runs the tests of one package.
type runner struct {
	binary string
	dir    string
	env    []string
	quiet  time.Duration // a process that begins and ends no test for so long hangs
}

// runner runs the tests of a package of the port.
func (p *port) runner(pkg *testPackage, processors string) *runner {
	return &runner{
		binary: p.binary(pkg), dir: filepath.Join(p.dir, pkg.folder), quiet: time.Minute,
		env: []string{"NETCO_PORTED_PROCESSORS=" + processors},
	}
}

// run runs the named tests. A test that hangs or ends the process does not keep
// the others from running: they get another process.
func (r *runner) run(tests []string) (*results, error) {
	all := &results{outcomes: map[string]outcome{}, output: map[string][]string{}}
	var alone []string // which of several was it?
	for len(tests)+len(alone) > 0 {
		now := tests
		if len(tests) == 0 {
			now, alone = alone[:1], alone[1:]
		}
		got, suspects, end, err := r.process(now)
		if err != nil {
			return nil, err
		}
		for name, how := range got.outcomes {
			all.outcomes[name] = how
			all.output[name] = got.output[name]
		}
		if end == passed { // but for tests that the process says nothing of
			suspects, end = nil, failed
			for _, name := range now {
				if got.outcomes[name] == "" {
					suspects = append(suspects, name)
				}
			}
		}
		if len(suspects) == 0 && len(got.outcomes) == 0 {
			suspects = now[:1]
		}
		if len(suspects) > 1 && len(now) > 1 {
			alone = append(alone, suspects...)
		} else {
			for _, name := range suspects {
				all.outcomes[name], all.output[name] = end, got.output[name]
			}
		}
		tests = slices.DeleteFunc(slices.Clone(tests), func(name string) bool {
			return all.outcomes[name] != "" || slices.Contains(alone, name)
		})
	}
	return all, nil
}

// process runs tests in one process. It returns the outcomes of those that
// ended, which did not although they ran, and how the process ended: passed if
// it went through all of them.
func (r *runner) process(tests []string) (got *results, running []string, end outcome, err error) {
	cmd := exec.Command(r.binary, "-test.v=test2json", "-test.timeout=15m",
		"-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.env...)
	cmd.WaitDelay = 5 * time.Second
	out, in, err := os.Pipe()
	if err != nil {
		return nil, nil, "", err
	}
	cmd.Stdout, cmd.Stderr = in, in
	convert := exec.Command("go", "tool", "test2json")
	convert.Stdin = out
	stream, err := convert.StdoutPipe()
	err = errors.Join(err, convert.Start(), cmd.Start(), in.Close(), out.Close())
	if err != nil {
		return nil, nil, "", err
	}
	var silent atomic.Bool
	watch := time.AfterFunc(r.quiet, func() {
		silent.Store(true)
		cmd.Process.Signal(syscall.SIGQUIT) // all stacks
		time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
	})
	all := &events{results: results{outcomes: map[string]outcome{}, output: map[string][]string{}}}
	for lines := json.NewDecoder(stream); ; {
		var e event
		if err := lines.Decode(&e); err != nil {
			break
		}
		if all.add(e) {
			watch.Reset(r.quiet)
		}
	}
	watch.Stop()
	err = cmd.Wait()
	if err := convert.Wait(); err != nil {
		return nil, nil, "", err
	}
	switch {
	case silent.Load():
		end = hung
	case !all.over:
		end = crashed
	case err != nil && !slices.Contains(slices.Collect(maps.Values(all.outcomes)), failed):
		return nil, nil, "", fmt.Errorf("%s: no test failed, but %w", filepath.Base(r.binary), err)
	default:
		end = passed
	}
	return &all.results, all.running, end, nil
}

// event is one of test2json.
type event struct{ Action, Test, Output string }

// events are what a process has done.
type events struct {
	results
	running []string // tests that have begun and not ended, in the order of their beginning
	over    bool     // the last line has been written
}

var ends = map[string]outcome{"pass": passed, "fail": failed, "skip": skipped}

// add takes an event and reports whether a test, or a subtest, went on by it.
func (all *events) add(e event) bool {
	name, _, sub := strings.Cut(e.Test, "/")
	switch {
	case e.Action == "output":
		all.over = all.over || e.Test == "" && (e.Output == "PASS\n" || e.Output == "FAIL\n")
		all.output[name] = append(all.output[name], strings.TrimSuffix(e.Output, "\n"))
		return false
	case name == "" || sub:
		return sub
	}
	all.running = slices.DeleteFunc(all.running, func(other string) bool { return other == name })
	if how := ends[e.Action]; how != "" {
		all.outcomes[name] = how
	} else if e.Action != "pause" {
		all.running = append(all.running, name)
	}
	return true
}

// list returns the names of a binary's tests.
func (r *runner) list() ([]string, error) {
	cmd := exec.Command(r.binary, "-test.list=.")
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.env...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", filepath.Base(r.binary), err)
	}
	var names []string
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); regexp.MustCompile(
			`^(Test|Example|Fuzz)`).MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
