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
	if err := os.RemoveAll(t.dir); err != nil { // of a try before
		return err
	}
	if err := t.module.copyTo(t.original()); err != nil {
		return err
	}
	for _, k := range slices.Concat([]kind{untouched}, kinds) {
		if !slices.Contains(t.kinds, k.name) || k.tool && t.module.left() == "" ||
			k.page && !onPage[t.module.name] {
			continue
		}
		p, err := t.module.newPort(filepath.Join(t.dir, k.name), t.original(), k)
		if err != nil {
			return err
		}
		if err := p.build(p.packages); err != nil {
			return err
		}
		t.ports = append(t.ports, p)
	}
	return nil
}

// original is the folder of the copy that the ports are made from.
func (t *trial) original() string { return filepath.Join(t.dir, "original") }

// processors are how many Processors the tests have, a run for each number.
var processors = []string{"1", "2"}

// run runs the tests: one port after the other, since some tests listen on port
// numbers of their own.
func (t *trial) run() error {
	for _, p := range t.ports {
		numbers := processors
		if p.kind == untouched {
			numbers = numbers[:1] // it has none
		}
		for _, n := range numbers {
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
	all := make([]map[string]result, len(p.packages))
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
	var v verdict
	for i, pkg := range p.packages {
		if err := t.judge(&v, p, pkg, processors, all[i]); err != nil {
			return err
		}
	}
	t.failures += v.failures
	fmt.Printf("%-9s %-10s Processors: %s, passed: %3d, failed: %3d, %5.1f s\n%s",
		t.module.name, p.kind.name, processors, v.passes, v.failures, time.Since(begin).Seconds(),
		&v.notes)
	if v.passes+v.failures == 0 && t.match.String() == "" {
		return fmt.Errorf("%s: no tests", t.module.name)
	}
	return nil
}

// verdict is how a port's tests went, all told.
type verdict struct {
	passes, failures int
	notes            strings.Builder // a line for each test that did not just pass
}

// tries is how often a test that failed is run again, by itself: some measure
// time, and fail untouched too when the machine is busy. A test that hung or
// ended the process has no second chance, unless it is known to do so untouched.
const tries = 3

// judge counts the results of a package's tests.
func (t *trial) judge(
	v *verdict, p *port, pkg *testPackage, processors string, got map[string]result,
) error {
	original := &port{module: t.module, kind: untouched, dir: t.original()}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		first := got[name].outcome
		how, there, err := got[name], result{outcome: first}, error(nil)
		if first == failed || t.module.unsteady[name] != "" {
			how, err = t.again(p, pkg, processors, name, how)
		}
		if err == nil && how.outcome != passed && p.kind != untouched {
			there, err = t.again(original, pkg, processors, name, result{outcome: failed})
		}
		if err != nil {
			return err
		}
		full := fmt.Sprintf("%s/%s %s", pkg.folder, name, first)
		switch {
		case first == passed:
			v.passes++
		case how.outcome == passed:
			v.passes++
			fmt.Fprintf(&v.notes, "    passed when run again, at first: %s\n", full)
		case there.outcome != passed:
			fmt.Fprintf(&v.notes, "    not counted, as it does not pass untouched: %s\n", full)
		default:
			v.failures++
			fmt.Fprintf(&v.notes, "    --- FAIL: %s\n%s\n", full, tail(how.output, 40))
		}
	}
	return nil
}

// again runs a test until it passes, is skipped, or has had its tries, and
// returns how it ended last. So far it has ended as how says.
func (t *trial) again(
	p *port, pkg *testPackage, processors, name string, how result,
) (result, error) {
	if _, err := os.Stat(p.binary(pkg)); err != nil {
		if err := p.build([]*testPackage{pkg}); err != nil {
			return how, err
		}
	}
	for try := 0; try < tries && how.outcome != passed && how.outcome != skipped; try++ {
		got, err := p.runner(pkg, processors).run([]string{name})
		if err != nil {
			return how, err
		}
		how = got[name]
	}
	return how, nil
}

// runPackage runs a package's tests, but for those that are not to be run.
func (t *trial) runPackage(p *port, pkg *testPackage, processors string) (map[string]result, error) {
	r := p.runner(pkg, processors)
	tests, err := r.list()
	if err != nil {
		return nil, err
	}
	return r.run(slices.DeleteFunc(tests, func(name string) bool {
		return t.module.skip[name] != "" || !t.match.MatchString(name)
	}))
}
