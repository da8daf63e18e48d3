package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// trial is the test of one module.
type trial struct {
	*settings
	module   *module
	dir      string
	ports    []*port
	failures int
	err      error
}

// build makes the ports and compiles their tests.
func (t *trial) build() error {
	if err := t.module.copyTo(t.original(), t.root); err != nil {
		return err
	}
	for _, k := range slices.Concat([]kind{untouched}, kinds) {
		if !slices.Contains(t.kinds, k.name) || k.tool && t.module.left() == "" ||
			k.page && !onPage[t.module.name] {
			continue
		}
		p, err := t.module.newPort(filepath.Join(t.dir, k.name), t.original(), t.root, k)
		if err != nil {
			return err
		}
		if err := p.build(p.packages, t.race); err != nil {
			return err
		}
		t.ports = append(t.ports, p)
	}
	return nil
}

// original is the folder of the copy that the ports are made from.
func (t *trial) original() string { return filepath.Join(t.dir, "original") }

// run runs the tests: one port after the other, since some tests listen on port
// numbers of their own.
func (t *trial) run() error {
	for _, p := range t.ports {
		processors := t.processors
		if p.kind == untouched {
			processors = []string{"-"}
		}
		for _, n := range processors {
			if err := t.runPort(p, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// slots bounds how many test processes there are at a time: as many as go test
// has on a machine of four cores.
var slots = make(chan struct{}, 4)

// runPort runs a port's tests, and writes how that went.
func (t *trial) runPort(p *port, processors string) error {
	begin := time.Now()
	all := make([]*results, len(p.packages))
	errs := make([]error, len(p.packages))
	var wg sync.WaitGroup
	for i, pkg := range p.packages {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i], errs[i] = t.runPackage(p, pkg, processors)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var report strings.Builder
	passes, failures := 0, 0
	for i, pkg := range p.packages {
		v, err := t.judge(p, pkg, processors, all[i])
		if err != nil {
			return err
		}
		passes += v.passes
		failures += len(v.failures)
		report.WriteString(v.String())
	}
	t.failures += failures
	fmt.Printf("%-9s %-10s Processors: %s, passed: %3d, failed: %3d, %5.1f s\n%s",
		t.module.name, p.kind.name, processors, passes, failures, time.Since(begin).Seconds(),
		&report)
	if passes+failures == 0 && t.match.String() == "" {
		return fmt.Errorf("%s: no tests", t.module.name)
	}
	return nil
}

// verdict is how a package's tests went, all told.
type verdict struct {
	passes     int
	failures   []string
	again      []string // passed, but not the first time
	notCounted []string // do not pass untouched either
}

func (v *verdict) String() string {
	var b strings.Builder
	for _, text := range v.failures {
		fmt.Fprintf(&b, "    --- FAIL: %s\n", text)
	}
	for _, text := range v.again {
		fmt.Fprintf(&b, "    passed when run again, at first: %s\n", text)
	}
	if n := len(v.notCounted); n > 0 {
		fmt.Fprintf(&b, "    not counted, as they do not pass untouched: %d, such as %s\n", n,
			v.notCounted[0])
	}
	return b.String()
}

// tries is how often a test that failed is run again, by itself: some measure
// time, and fail untouched too when the machine is busy. A test that hung or
// ended the process has no second chance, unless it is known to do so untouched.
const tries = 3

// judge counts the results of a package's tests.
func (t *trial) judge(p *port, pkg *testPackage, processors string, got *results) (*verdict,
	error) {
	var v verdict
	var doubtful []string
	for _, name := range slices.Sorted(maps.Keys(got.outcomes)) {
		if got.outcomes[name] == passed {
			v.passes++
		} else {
			doubtful = append(doubtful, name)
		}
	}
	if len(doubtful) == 0 {
		return &v, nil
	}
	before := got
	if p.kind != untouched {
		var err error
		if before, err = t.runUntouched(pkg, doubtful); err != nil {
			return nil, err
		}
	}
	for _, name := range doubtful {
		how, there := got.outcomes[name], before.outcomes[name]
		var err error
		if there != skipped {
			there, err = again(name, there, func() (*results, error) {
				return t.runUntouched(pkg, []string{name})
			})
		}
		if err == nil && (how == failed || t.module.unsteady[name] != "") {
			how, err = again(name, how, func() (*results, error) {
				return t.runTests(p, pkg, processors, []string{name})
			})
		}
		if err != nil {
			return nil, err
		}
		full := pkg.folder + "/" + name + " " + string(got.outcomes[name])
		switch {
		case how == passed:
			v.passes++
			v.again = append(v.again, full)
		case there != passed:
			v.notCounted = append(v.notCounted, full)
		default:
			if t.verbose {
				full += "\n" + tail(strings.Join(got.output[name], "\n"), 40)
			}
			v.failures = append(v.failures, full)
		}
	}
	return &v, nil
}

// again runs a test until it passes or has had its tries, and returns how it
// ended last. So far it has ended as how says.
func again(name string, how outcome, run func() (*results, error)) (outcome, error) {
	for try := 0; try < tries && how != passed; try++ {
		got, err := run()
		if err != nil {
			return "", err
		}
		how = got.outcomes[name]
	}
	return how, nil
}

// runUntouched runs tests of a package as the module has them.
func (t *trial) runUntouched(pkg *testPackage, tests []string) (*results, error) {
	p := &port{module: t.module, kind: untouched, dir: t.original()}
	if _, err := os.Stat(p.binary(pkg)); err != nil {
		if err := p.build([]*testPackage{pkg}, t.race); err != nil {
			return nil, err
		}
	}
	return t.runTests(p, pkg, "-", tests)
}

// runPackage runs a package's tests, but for those that are not to be run.
func (t *trial) runPackage(p *port, pkg *testPackage, processors string) (*results, error) {
	tests, err := t.runner(p, pkg, processors).list()
	if err != nil {
		return nil, err
	}
	return t.runTests(p, pkg, processors, slices.DeleteFunc(tests, func(name string) bool {
		return t.module.skip[name] != "" || !t.match.MatchString(name)
	}))
}

// runTests runs some of a package's tests.
func (t *trial) runTests(
	p *port, pkg *testPackage, processors string, tests []string,
) (*results, error) {
	r := t.runner(p, pkg, processors)
	name := fmt.Sprintf("%s.%s.%s.txt", filepath.Base(r.binary), p.kind.name, processors)
	log, err := os.OpenFile(filepath.Join(t.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r.log = log
	return r.run(tests)
}

func (t *trial) runner(p *port, pkg *testPackage, processors string) *runner {
	return &runner{
		binary: p.binary(pkg), dir: filepath.Join(p.dir, pkg.folder), quiet: t.quiet,
		env: []string{"NETCO_PORTED_PROCESSORS=" + processors},
	}
}
