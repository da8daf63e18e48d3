// Package check runs the analyzers of package vet over packages, and repairs
// what they have a fix for.
//
// A repair is made as a whole or not at all: its result is type-checked in
// memory, with all packages of the module and their tests, and only what
// compiles is written. What does not is withheld, with the compiler's words.
package check

import (
	"flag"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// The exit codes. With -fix, clean is that all has been fixed.
const (
	clean  = 0
	failed = 1
	usage  = 2
	left   = 3
)

// run is a run of netco-vet.
type run struct {
	out, err  io.Writer
	analyzers []*analysis.Analyzer
	patterns  []string
	test      bool
	loader    load.Loader
}

// Main runs netco-vet with its arguments and returns the exit code.
func Main(args []string, out, err io.Writer) int {
	r := &run{out: out, err: err}
	f := flag.NewFlagSet("netco-vet", flag.ContinueOnError)
	f.SetOutput(err)
	f.Usage = func() {
		fmt.Fprint(err, "usage: netco-vet [flags] PACKAGES, or netco-vet port\n"+
			"netco-vet help has the rules. It exits with 0 if there is nothing to report, with 3 if "+
			"there is,\nand with 1 if it failed; with -fix, 3 if not all is fixed.\n")
		f.PrintDefaults()
	}
	fix := f.Bool("fix", false, "repair what has a repair that compiles")
	diff := f.Bool("diff", false, "with -fix: write the changes to stdout, and change nothing")
	tags := f.String("tags", "", "build `tags`")
	f.BoolVar(&r.test, "test", true, "look at tests, too")
	on := map[string]*bool{}
	for _, a := range vet.Analyzers() {
		doc, _, _ := strings.Cut(a.Doc, "\n")
		on[a.Name] = f.Bool(a.Name, false, doc+"; with =false, all but it")
	}
	if f.Parse(args) != nil {
		return usage
	}
	if r.patterns = f.Args(); len(r.patterns) == 0 || *diff && !*fix {
		f.Usage()
		return usage
	}
	if *tags != "" {
		r.loader.BuildFlags = []string{"-tags=" + *tags}
	}
	r.choose(f, on)
	if *fix {
		return r.repair(*diff)
	}
	pkgs, loadErr := r.loader.Load(nil, r.test, r.patterns...)
	if loadErr == nil && len(pkgs) == 0 {
		loadErr = fmt.Errorf("no packages match %s", strings.Join(r.patterns, " "))
	}
	if loadErr != nil {
		return r.fail(loadErr)
	}
	return r.report(pkgs)
}

func (r *run) fail(err error) int {
	fmt.Fprintln(r.err, "netco-vet:", err)
	return failed
}

// choose takes the rules that the flags name; if they only switch some off, the
// others.
func (r *run) choose(f *flag.FlagSet, on map[string]*bool) {
	named := map[string]bool{}
	only := false
	f.Visit(func(f *flag.Flag) {
		if v := on[f.Name]; v != nil {
			named[f.Name] = true
			only = only || *v
		}
	})
	for _, a := range vet.Analyzers() {
		if *on[a.Name] || !only && !named[a.Name] {
			r.analyzers = append(r.analyzers, a)
		}
	}
}

// report writes what the rules find.
func (r *run) report(pkgs []*packages.Package) int {
	graph, err := checker.Analyze(r.analyzers, pkgs, nil)
	if err != nil {
		return r.fail(err)
	}
	code := clean
	for _, line := range broken(pkgs) {
		fmt.Fprintln(r.err, line)
		code = failed
	}
	found, err := findings(graph)
	if err != nil {
		return r.fail(err)
	}
	for _, d := range found {
		fmt.Fprintln(r.err, d)
	}
	if len(found) > 0 && code == clean {
		code = left
	}
	return code
}

// found is a diagnostic of one of the rules.
type found struct {
	analysis.Diagnostic
	pkg *packages.Package
	at  token.Position
}

func (f found) String() string { return fmt.Sprintf("%s: %s", f.at, f.Message) }

// findings returns what the rules have found, in the order of the source. A
// package and the same with its tests have files in common, whose findings are
// one; that with the tests knows more.
func findings(graph *checker.Graph) (all []found, err error) {
	index := map[string]int{}
	for _, root := range graph.Roots {
		switch {
		case load.Broken(root.Package):
			continue // broken has a line for it
		case root.Err != nil:
			return nil, fmt.Errorf("%s: %w", root.Package.ID, root.Err)
		}
		for _, d := range root.Diagnostics {
			f := found{d, root.Package, root.Package.Fset.Position(d.Pos)}
			key := fmt.Sprintf("%s:%d:%s", f.at.Filename, f.at.Offset, d.Message)
			i, ok := index[key]
			switch {
			case !ok:
				index[key] = len(all)
				all = append(all, f)
			case len(all[i].SuggestedFixes) == 0 && (len(d.SuggestedFixes) > 0 ||
				len(f.pkg.Syntax) > len(all[i].pkg.Syntax)):
				all[i] = f
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		if c := strings.Compare(a.at.Filename, b.at.Filename); c != 0 {
			return c
		}
		return a.at.Offset - b.at.Offset
	})
	return all, nil
}

// broken has a line for each package that does not compile, with how many are
// not checked since they depend on it.
func broken(pkgs []*packages.Package) (lines []string) {
	var causes []*packages.Package
	dependents, seen := map[string]int{}, map[string]bool{}
	for _, p := range pkgs {
		if !load.Broken(p) || seen[p.PkgPath] {
			continue
		}
		seen[p.PkgPath] = true
		of := cause(p)
		if n, ok := dependents[of.PkgPath]; !ok {
			causes = append(causes, of)
			dependents[of.PkgPath] = n
		}
		if of.PkgPath != p.PkgPath {
			dependents[of.PkgPath]++
		}
	}
	for _, p := range causes {
		line := p.PkgPath + ": not checked: it does not compile"
		if len(p.Errors) > 0 {
			line = p.PkgPath + ": not checked: " + load.FirstError(p)
		}
		if n := dependents[p.PkgPath]; n > 0 {
			line += fmt.Sprintf("; nor are the packages that need it: %d", n)
		}
		lines = append(lines, line)
	}
	return lines
}

// cause returns the package, p or one that it depends on, that has the errors
// for which p does not compile.
func cause(p *packages.Package) *packages.Package {
	var of *packages.Package
	packages.Visit([]*packages.Package{p}, func(*packages.Package) bool {
		return of == nil
	}, func(p *packages.Package) { // dependencies first
		if of == nil && len(p.Errors) > 0 {
			of = p
		}
	})
	if of == nil {
		return p
	}
	return of
}
