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
	modules, kinds []string // by their names
	match          *regexp.Regexp
	keep           string
}

// root is netco's folder.
var root, _ = filepath.Abs("../..")

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

func parseFlags() (s *settings, err error) {
	s = &settings{}
	for _, m := range modules {
		s.modules = append(s.modules, m.name)
	}
	for _, k := range kinds {
		s.kinds = append(s.kinds, k.name)
	}
	list := func(names *[]string, more ...string) func(string) error {
		known := append(more, *names...)
		return func(text string) error {
			*names = strings.Split(text, ",")
			for _, name := range *names {
				if !slices.Contains(known, name) {
					return fmt.Errorf("%s is none of %s", name, strings.Join(known, ", "))
				}
			}
			return nil
		}
	}
	flag.Func("modules", "only these `modules`, with commas between", list(&s.modules))
	flag.Func("ports", "only these `kinds`, with commas between: statements, net, vet, page, "+
		"untouched", list(&s.kinds, untouched.name))
	match := flag.String("run", "", "only tests whose names match this `expression`")
	flag.StringVar(&s.keep, "keep", "", "keep copies and binaries in this `folder`, which must be "+
		"empty")
	flag.Parse()
	if s.match, err = regexp.Compile(*match); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "api.go")); err != nil {
		return nil, errors.New("not in the folder interop/ported")
	}
	return s, nil
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
