package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// result is how a test ended and, if it had a process for itself, what that has
// written. Subtests are part of their test.
type result struct {
	outcome
	output string
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

// run runs the named tests in one process. A test that hangs or ends the process
// does not keep the others from running: each without an outcome gets a process
// for itself, and has its end.
func (r *runner) run(tests []string) (map[string]result, error) {
	outcomes, end, err := r.process(tests)
	if err != nil {
		return nil, err
	}
	if end.outcome == passed { // but for tests that the process says nothing of
		end.outcome = failed
	}
	got := map[string]result{}
	for _, name := range tests {
		switch how := outcomes[name]; {
		case len(tests) == 1:
			got[name] = result{cmp.Or(how, end.outcome), end.output}
		case how != "":
			got[name] = result{outcome: how}
		default:
			alone, err := r.run([]string{name})
			if err != nil {
				return nil, err
			}
			got[name] = alone[name]
		}
	}
	return got, nil
}

// progress matches what the testing package writes of a test that begins, waits,
// goes on or ends. The first character is the testing package's mark of its own
// lines, which the output of a test may precede.
var progress = regexp.MustCompile(`\x16(?:=== (?:RUN|PAUSE|CONT) |--- (PASS|FAIL|SKIP): (\S+))`)

var ends = map[string]outcome{"PASS": passed, "FAIL": failed, "SKIP": skipped}

// process runs tests in one process. It returns the outcomes of those that ended,
// and how the process ended: passed if it went through all of them.
func (r *runner) process(tests []string) (got map[string]outcome, end result, err error) {
	cmd := exec.Command(r.binary, "-test.v=test2json", "-test.timeout=15m",
		"-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.env...)
	stdout, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err := errors.Join(err, cmd.Start()); err != nil {
		return nil, result{}, err
	}
	var silent atomic.Bool
	watch := time.AfterFunc(r.quiet, func() {
		silent.Store(true)
		cmd.Process.Signal(syscall.SIGQUIT) // all stacks
		time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
	})
	got = map[string]outcome{}
	var output strings.Builder
	over, failure := false, false
	for lines := bufio.NewReader(stdout); err == nil; {
		var line string
		line, err = lines.ReadString('\n')
		output.WriteString(line)
		last := strings.TrimPrefix(line, "\x16")
		over = over || last == "PASS\n" || last == "FAIL\n"
		if m := progress.FindStringSubmatch(line); m != nil {
			watch.Reset(r.quiet)
			if how := ends[m[1]]; how != "" && !strings.Contains(m[2], "/") {
				got[m[2]] = how
				failure = failure || how == failed
			}
		}
	}
	watch.Stop()
	end.output = output.String()
	switch err := cmd.Wait(); {
	case silent.Load():
		end.outcome = hung
	case !over:
		end.outcome = crashed
		// A test that panics has failed first.
		maps.DeleteFunc(got, func(_ string, how outcome) bool { return how == failed })
	case err != nil && !failure:
		return nil, end, fmt.Errorf("%s: no test failed, but %w", filepath.Base(r.binary), err)
	default:
		end.outcome = passed
	}
	return got, end, nil
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
