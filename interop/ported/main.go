package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// kind is what is made of a module.
type kind struct {
	name   string
	change change
	tool   bool // it is made by cmd/netco-vet
	page   bool // and completed as docs/PORTING.md shows
}

// untouched is no port: what the others are compared with.
var untouched = kind{name: "untouched"}

var kinds = []kind{
	{name: "statements", change: change{statements: true}},
	{name: "net", change: change{statements: true, imports: true}},
	{name: "vet", tool: true},
	{name: "page", tool: true, page: true},
}

// settings are the flags.
type settings struct {
	modules    []string
	kinds      []string
	processors []string
	match      *regexp.Regexp
	quiet      time.Duration
	race       bool
	keep       string
	verbose    bool
	root       string // netco's folder
}

func main() {
	s, err := parseFlags()
	failures := 0
	if err == nil {
		failures, err = s.run()
	}
	if err != nil {
		fmt.Println("FAIL:", err)
	}
	if err != nil || failures > 0 {
		os.Exit(1)
	}
}

func parseFlags() (*settings, error) {
	var s settings
	var allModules, allKinds []string
	for _, m := range modules {
		allModules = append(allModules, m.name)
	}
	for _, k := range kinds {
		allKinds = append(allKinds, k.name)
	}
	words := func(to *[]string, name, value, usage string) {
		flag.Func(name, usage, split(to, value))
	}
	words(&s.modules, "modules", strings.Join(allModules, ","), "only these `modules`")
	words(&s.kinds, "ports", strings.Join(allKinds, ","), "only these `kinds`: statements, net, "+
		"vet, page, untouched")
	allKinds = append(allKinds, untouched.name)
	words(&s.processors, "processors", "1,2", "with how many `Processors`, a run for each number")
	match := flag.String("run", "", "only tests whose names match this `expression`")
	flag.DurationVar(&s.quiet, "quiet", time.Minute,
		"a process hangs when no test has begun or ended for so long")
	flag.BoolVar(&s.race, "race", false, "with the race detector")
	flag.StringVar(&s.keep, "keep", "",
		"keep copies, binaries and outputs in this `folder`, which must be empty")
	flag.BoolVar(&s.verbose, "v", false, "write the output of tests that fail")
	flag.Parse()
	for _, name := range s.modules {
		if !slices.Contains(allModules, name) {
			return nil, fmt.Errorf("no module %s", name)
		}
	}
	for _, name := range s.kinds {
		if !slices.Contains(allKinds, name) {
			return nil, fmt.Errorf("no kind of port %s", name)
		}
	}
	var err error
	if s.match, err = regexp.Compile(*match); err != nil {
		return nil, err
	}
	if s.root, err = filepath.Abs("../.."); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(s.root, "api.go")); err != nil {
		return nil, errors.New("not in the folder interop/ported")
	}
	return &s, nil
}

// split sets to to value, and returns what sets it to a flag's words.
func split(to *[]string, value string) func(string) error {
	set := func(text string) error {
		*to = strings.Split(text, ",")
		return nil
	}
	set(value)
	return set
}

// downloads is how often a download is tried: a network may fail for a moment.
const downloads = 3

// run tests the modules and returns how many tests failed. Everything is built
// before anything runs: some tests measure time.
func (s *settings) run() (failures int, err error) {
	dir := s.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "netco-ported-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
	} else if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) > 0 {
		return 0, fmt.Errorf("%s is not empty", dir)
	}
	var trials []*trial
	for _, m := range modules {
		if !slices.Contains(s.modules, m.name) {
			continue
		}
		t := &trial{settings: s, module: m, dir: filepath.Join(dir, m.name)}
		err := t.build()
		for try := 1; errors.Is(err, errDownload) && try < downloads; try++ {
			err = t.build()
		}
		switch {
		case errors.Is(err, errDownload):
			fmt.Printf("skipped: %s: %v\n", m.name, err)
		case err != nil:
			return 0, fmt.Errorf("%s: %w", m.name, err)
		default:
			trials = append(trials, t)
		}
	}
	var wg sync.WaitGroup
	for _, t := range trials {
		wg.Go(func() { t.err = t.run() })
	}
	wg.Wait()
	for _, t := range trials {
		failures += t.failures
		err = errors.Join(err, t.err)
	}
	return failures, err
}
