package port

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// file is a file of the module.
type file struct {
	name       string
	pkg        string // the path of its package
	fixed      string // why it cannot be changed, or ""
	silent     bool   // that needs no line in the report
	byCgo      bool   // what is compiled of it is written by cgo
	both       bool   // it imports netco's beside package net and net/http: that stays
	passes     bool   // it hands values of files that stay to others, or may
	imports    []edit // of package net and net/http
	left       string // why these stay, or ""
	statements []*statement
	shared     map[string]string // what it uses of other files, by file
}

// statement is a go statement.
type statement struct {
	at    token.Position
	edits []edit
	left  string // why it stays, or ""
}

// stays reports whether a file goes on with package net's types.
func (f *file) stays() bool {
	return f.passes || len(f.imports) > 0 && (f.left != "" || f.fixed != "" || f.both)
}

// edits are what is not left.
func (f *file) edits() (all []edit) {
	if !f.stays() {
		all = slices.Clone(f.imports)
	}
	for _, s := range f.statements {
		if s.left == "" {
			all = append(all, s.edits...)
		}
	}
	return all
}

// choose finds the folders of the packages that are to be ported.
func (p *port) choose() error {
	if len(p.Patterns) == 0 {
		return nil
	}
	args := slices.Concat([]string{"list", "-e", "-f", "{{.Dir}}"}, p.flags, p.Patterns)
	out, err := p.command(p.Dir, "go", args...)
	if err != nil {
		return err
	}
	p.chosen = map[string]bool{}
	for dir := range strings.Lines(out) {
		dir = strings.TrimSpace(dir)
		if _, err := os.Stat(dir); err != nil || !within(p.root, dir) {
			return fmt.Errorf("%s: no packages of this module", strings.Join(p.Patterns, " "))
		}
		p.chosen[dir] = true
	}
	if len(p.chosen) == 0 {
		return fmt.Errorf("%s: no packages", strings.Join(p.Patterns, " "))
	}
	return nil
}

// wanted reports whether the packages in a folder are to be ported.
func (p *port) wanted(dir string) bool { return p.chosen == nil || p.chosen[dir] }

// plan finds out what to change.
func (p *port) plan() error {
	pkgs, err := p.load()
	if err != nil {
		return err
	}
	mistakes(pkgs, p.known)
	all, good := 0, 0
	for _, pkg := range pkgs {
		if !own(pkg) {
			continue
		}
		all++
		if len(pkg.Errors) == 0 {
			good++
		} else {
			why := strings.Join(strings.Fields(pkg.Errors[0].Error()), " ")
			why = strings.ReplaceAll(why, p.root+string(filepath.Separator), "")
			p.broken[pkg.PkgPath] = failure{pkg.Dir, why}
		}
	}
	if all == 0 {
		return fmt.Errorf("%s has no packages", p.root)
	}
	if good == 0 {
		for _, of := range p.broken {
			return fmt.Errorf("no package loads: %s", of.why)
		}
	}
	for _, pkg := range pkgs {
		if own(pkg) {
			p.addPackage(pkg)
		}
	}
	return analyze(pkgs, []*analysis.Analyzer{vet.Planner}, func(a *checker.Action) {
		for _, s := range a.Result.([]vet.Statement) {
			p.addStatement(s)
		}
	})
}

// addPackage takes over a package's files, and notes those that are not built
// here and have something to port. A package and the same with its tests
// have files in common.
func (p *port) addPackage(pkg *packages.Package) {
	if pkg.TypesInfo == nil {
		return
	}
	ours := func(path string) bool {
		return path == pkg.PkgPath || path == pkg.Module.Path ||
			strings.HasPrefix(path, pkg.Module.Path+"/")
	}
	for _, of := range vet.Exchanges(p.fset, pkg.Syntax, pkg.TypesInfo, ours, vet.Ported...) {
		f := p.files[of.Name]
		if f == nil {
			if !slices.Contains(pkg.GoFiles, of.Name) {
				continue // written by cgo
			}
			f = p.newFile(pkg, of)
			p.files[of.Name] = f
		}
		if of.Leak != nil {
			f.leave(of.Leak.What + " takes or returns package net's or net/http's")
		}
		for _, use := range of.Shared {
			if f.shared[use.File] == "" || f.shared[use.File] > use.What {
				f.shared[use.File] = use.What
			}
		}
	}
	for _, name := range pkg.IgnoredFiles {
		if filepath.Ext(name) == ".go" && p.wanted(filepath.Dir(name)) && concerned(name) {
			p.foreign = append(p.foreign, p.relative(name))
		}
	}
	for _, name := range pkg.GoFiles {
		if p.files[name] == nil && p.wanted(filepath.Dir(name)) && within(p.root, name) {
			p.files[name] = &file{name: name, fixed: "what is compiled of it is written by cgo",
				silent: p.broken[pkg.PkgPath].why != "" || !concerned(name), byCgo: true}
		}
	}
}

// newFile returns a file that is not known yet.
func (p *port) newFile(pkg *packages.Package, of vet.File) *file {
	f := &file{name: of.Name, pkg: pkg.PkgPath, both: of.Both, shared: map[string]string{},
		imports: editsOf(p.fset, of.Imports)}
	switch why := fixed(p.root, f.name); {
	case !p.wanted(filepath.Dir(f.name)):
		f.fixed, f.silent = "its package is not to be ported", true
	case p.broken[pkg.PkgPath].why != "":
		f.fixed, f.silent = "its package does not load", true
	case of.Generated:
		f.fixed = "it is generated; change what writes it"
	default:
		f.fixed = why
	}
	return f
}

// addStatement takes over a go statement.
func (p *port) addStatement(of vet.Statement) {
	s := &statement{p.fset.PositionFor(of.Pos, false), editsOf(p.fset, of.Edits), of.Why}
	f := p.files[s.at.Filename]
	if f == nil || slices.ContainsFunc(f.statements, func(has *statement) bool {
		return has.at == s.at
	}) {
		return
	}
	if f.fixed != "" {
		s.left = f.fixed
	}
	if overlap(s.edits, f.edits()) {
		s.leave("it stands within an argument of another one")
	}
	f.statements = append(f.statements, s)
}

// concerned reports whether a file imports package net or net/http, or has a go
// statement.
func concerned(name string) (yes bool) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if f == nil {
		return err != nil
	}
	for _, spec := range f.Imports {
		yes = yes || ported(spec)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		yes = yes || is
		return !yes
	})
	return yes
}

// relevant reports whether a file that cannot be changed has something to port.
func (f *file) relevant() bool {
	return !f.silent && (f.byCgo || len(f.imports) > 0 && !f.both || len(f.statements) > 0)
}
