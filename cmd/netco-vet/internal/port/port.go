// Package port ports a module to netco in place: imports of package net become
// netco/net's, and go statements that serve connections become calls of
// netco.Go. What it leaves to a person it lists.
package port

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

const module = "github.com/netco-go/netco"

// language is the Go version that netco's go.mod states.
const language = "1.25.0"

// Options say what to port.
type Options struct {
	Dir   string // of the module
	Netco string // a folder that has netco, or a version of it
}

// Run ports a module and writes what it did, and what is left, to out.
func Run(o Options, out io.Writer) error {
	if _, err := os.Stat(filepath.Join(o.Dir, "go.mod")); err != nil {
		return fmt.Errorf("%w; make one by go mod init first", err)
	}
	p := &port{Options: o, edits: map[string][]edit{}, seen: map[string]bool{},
		before: map[string][]byte{}}
	if err := p.change(); err != nil {
		return errors.Join(err, p.restore())
	}
	fmt.Fprintf(out, "%d imports of net and %d go statements changed, in %d files\n",
		p.imports, p.statements, len(p.edits))
	report(out, "left on package net, since another module takes or returns its types", p.leaks)
	report(out, "files left, since a tool such as cgo writes what is compiled of them", p.unwritten)
	report(out, "go statements left, since they serve no connection for certain (lines before "+
		"the port)", p.left)
	report(out, "a coroutine that is refused panics; decide what is to happen (lines before the "+
		"port)", p.panics)
	found, err := p.vet()
	report(out, "netco-vet reports (lines after the port)", found)
	return err
}

func report(out io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	slices.Sort(lines)
	for _, l := range slices.Compact(lines) {
		fmt.Fprintf(out, "\t%s\n", l)
	}
}

// load loads the module in dir with its tests.
func load(dir string) (*token.FileSet, []*packages.Package, error) {
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir, Fset: fset, Tests: true,
		Env: append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"),
	}, "./...")
	if err != nil {
		return nil, nil, err
	}
	var broken []error
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			broken = append(broken, e)
		}
	})
	return fset, pkgs, errors.Join(broken...)
}

// analyze runs analyzers over packages and calls f for each package's result.
func analyze(pkgs []*packages.Package, as []*analysis.Analyzer, f func(*checker.Action)) error {
	graph, err := checker.Analyze(as, pkgs, nil)
	if err != nil {
		return err
	}
	for _, root := range graph.Roots {
		if root.Err != nil {
			return root.Err
		}
		f(root)
	}
	return nil
}

// older reports whether the module states a version of Go before netco's.
func older(pkgs []*packages.Package) bool {
	for _, p := range pkgs {
		if p.Module != nil && p.Module.GoVersion != "" {
			return version.Compare("go"+p.Module.GoVersion, "go"+language) < 0
		}
	}
	return true
}

// port is a port under way.
type port struct {
	Options
	fset                *token.FileSet
	edits               map[string][]edit // by file
	seen                map[string]bool   // places that are done
	before              map[string][]byte // files to restore; nil: there was none
	older               bool              // than the Go that netco needs
	imports, statements int
	leaks, left, panics []string
	unwritten           []string
}

// edit replaces the bytes from from to to.
type edit struct {
	from, to int
	text     string
}

// add takes over a package's plan. A package and the same with its tests have
// files in common, whose plans are one.
func (p *port) add(plan *vet.Plan) {
	for _, e := range plan.Imports {
		if p.first(e.Pos) {
			p.imports++
			p.edit(e)
		}
	}
	for _, pos := range plan.Leaks {
		p.leaks = append(p.leaks, p.place(pos))
	}
	for _, pos := range plan.Unwritten {
		p.unwritten = append(p.unwritten, p.place(pos))
	}
	for _, s := range plan.Statements {
		switch {
		case !p.first(s.Pos):
		case s.Edits == nil:
			p.left = append(p.left, p.place(s.Pos))
		default:
			p.statements++
			for _, e := range s.Edits {
				p.edit(e)
			}
			if s.Panics {
				p.panics = append(p.panics, p.place(s.Pos))
			}
		}
	}
}

// first reports whether a place is met for the first time.
func (p *port) first(pos token.Pos) bool {
	at := p.fset.Position(pos).String()
	done := p.seen[at]
	p.seen[at] = true
	return !done
}

// place is a position, relative to the module.
func (p *port) place(pos token.Pos) string {
	at := p.fset.Position(pos)
	if name, err := filepath.Rel(p.Dir, at.Filename); err == nil {
		at.Filename = name
	}
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

func (p *port) edit(e analysis.TextEdit) {
	from, to := p.fset.Position(e.Pos), p.fset.Position(e.End)
	x := edit{from.Offset, to.Offset, string(e.NewText)}
	if !slices.Contains(p.edits[from.Filename], x) { // imports are added once
		p.edits[from.Filename] = append(p.edits[from.Filename], x)
	}
}

// change makes the module require netco, and writes the changed files.
func (p *port) change() error {
	for _, name := range []string{"go.mod", "go.sum"} {
		if _, err := p.read(filepath.Join(p.Dir, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if err := p.plan(); err != nil {
		return err
	}
	if err := p.apply(); err != nil {
		return err
	}
	return p.require()
}

// read returns a file's content, which restore writes.
func (p *port) read(name string) (src []byte, err error) {
	if src, err = os.ReadFile(name); err == nil || os.IsNotExist(err) {
		p.before[name] = src
	}
	return src, err
}

// restore undoes what a port that fails has changed.
func (p *port) restore() (err error) {
	for name, src := range p.before {
		switch has, _ := os.ReadFile(name); {
		case src == nil && has != nil:
			err = errors.Join(err, os.Remove(name))
		case !bytes.Equal(src, has):
			err = errors.Join(err, os.WriteFile(name, src, 0o666))
		}
	}
	return err
}

// plan finds out what to change.
func (p *port) plan() error {
	fset, pkgs, err := load(p.Dir)
	if err != nil {
		return err
	}
	p.fset, p.older = fset, older(pkgs)
	return analyze(pkgs, []*analysis.Analyzer{vet.Planner}, func(a *checker.Action) {
		p.add(a.Result.(*vet.Plan))
	})
}

// apply writes the changed files.
func (p *port) apply() error {
	for name, edits := range p.edits {
		src, err := p.read(name)
		if err != nil {
			return err
		}
		slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
		var out bytes.Buffer
		at := 0
		for _, e := range edits {
			out.Write(src[at:e.from])
			out.WriteString(e.text)
			at = e.to
		}
		out.Write(src[at:])
		text, err := format.Source(out.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// require makes the module require netco.
func (p *port) require() error {
	version, args := p.Netco, []string{"mod", "edit"}
	if _, err := os.Stat(p.Netco); err == nil {
		folder, err := filepath.Abs(p.Netco)
		if err != nil {
			return err
		}
		version, args = "v0.0.0", append(args, "-replace="+module+"="+folder)
	}
	if version != "latest" {
		if args = append(args, "-require="+module+"@"+version); p.older {
			args = append(args, "-go="+language)
		}
		if err := p.command("go", args...); err != nil {
			return err
		}
	} else if err := p.command("go", "get", module+"@latest"); err != nil {
		return err
	}
	return p.command("go", "list", "-mod=mod", "-deps", "-test", "./...")
}

func (p *port) command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err,
			out[max(0, len(out)-2000):])
	}
	return nil
}

// vet returns what the rules report of the ported module.
func (p *port) vet() (found []string, err error) {
	fset, pkgs, err := load(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("after the port: %w", err)
	}
	p.fset = fset
	err = analyze(pkgs, vet.Analyzers(), func(a *checker.Action) {
		for _, d := range a.Diagnostics {
			found = append(found, p.place(d.Pos)+": "+d.Message)
		}
	})
	return found, err
}
