package main

import (
	"bufio"
	"fmt"
	"io"
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
	output   map[string][]string // of tests that neither passed nor were skipped
}

// runner runs the tests of one package.
type runner struct {
	binary string
	dir    string
	env    []string
	quiet  time.Duration // a process that begins and ends no test for so long hangs
	log    io.Writer     // gets all output
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
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, nil, "", err
	}
	var silent atomic.Bool
	watch := time.AfterFunc(r.quiet, func() {
		silent.Store(true)
		cmd.Process.Signal(syscall.SIGQUIT) // all stacks
		time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
	})
	events := newEvents()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		io.WriteString(r.log, line)
		if events.add(strings.TrimSuffix(line, "\n")) {
			watch.Reset(r.quiet)
		}
		if err != nil {
			break
		}
	}
	watch.Stop()
	err = cmd.Wait()
	switch {
	case silent.Load():
		end = hung
	case !events.over:
		end = crashed
	case err != nil && !slices.Contains(slices.Collect(maps.Values(events.outcomes)), failed):
		return nil, nil, "", fmt.Errorf("%s: no test failed, but %w", filepath.Base(r.binary), err)
	default:
		end = passed
	}
	return &events.results, events.running, end, nil
}

// events reads what a test binary writes with -test.v=test2json.
type events struct {
	results
	running []string // tests that have begun and not ended, in the order of their beginning
	current string   // the one that writes
	over    bool     // the last line has been written
}

func newEvents() *events {
	return &events{results: results{outcomes: map[string]outcome{}, output: map[string][]string{}}}
}

var (
	begun   = regexp.MustCompile(`^\x16=== (RUN|CONT|NAME|PAUSE) +([^/\s]*)(/\S*)?$`)
	ended   = regexp.MustCompile(`^ *\x16--- (PASS|FAIL|SKIP): ([^/\s]+) \([0-9.]+s\)$`)
	through = regexp.MustCompile(`^\x16?(PASS|FAIL)$`)
	words   = map[string]outcome{"PASS": passed, "FAIL": failed, "SKIP": skipped}
)

// add takes a line and reports whether a test, or a subtest, went on by it.
func (e *events) add(line string) bool {
	if match := begun.FindStringSubmatch(line); match != nil {
		name := match[2]
		at := slices.Index(e.running, name)
		switch top := match[3] == ""; {
		case match[1] == "PAUSE" && top && at >= 0:
			e.running = slices.Delete(e.running, at, at+1)
		case match[1] != "PAUSE" && match[1] != "NAME" && top && at < 0:
			e.running = append(e.running, name)
		}
		e.current = name
		return match[1] != "NAME"
	}
	if match := ended.FindStringSubmatch(line); match != nil {
		name := match[2]
		e.outcomes[name] = words[match[1]]
		e.running = slices.DeleteFunc(e.running, func(other string) bool { return other == name })
		if e.outcomes[name] != failed {
			delete(e.output, name)
		}
		return true
	}
	if through.MatchString(line) {
		e.over = true
	} else if e.current != "" {
		e.output[e.current] = append(e.output[e.current], line)
	}
	return strings.HasPrefix(strings.TrimLeft(line, " "), "\x16---")
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
