// Package load loads packages with their types. What a Loader is asked for again
// with some files changed costs only what the changes concern: a package whose
// files and imports are the same is taken as it was.
package load

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// Loader loads packages. Its Config says where and how; the Mode and what Load
// takes are not the Config's to say.
type Loader struct {
	packages.Config
	have  map[string]*packages.Package // by ID: those of the last Load
	texts map[string][]byte            // the changed files of the last Load
}

// pending is a package that is being checked.
type pending struct {
	pkg  *packages.Package
	done chan struct{}
}

// Load loads packages with all that they depend on, as they are with the content
// that overlay has for some files.
func (l *Loader) Load(
	overlay map[string][]byte, tests bool, patterns ...string,
) ([]*packages.Package, error) {
	if l.Fset == nil {
		l.Fset = token.NewFileSet()
	}
	c := l.Config
	c.Mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes | packages.NeedModule
	c.Overlay, c.Tests = overlay, tests
	roots, err := packages.Load(&c, patterns...)
	if err != nil {
		return nil, err
	}
	all := map[string]*pending{}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	packages.Visit(roots, nil, func(p *packages.Package) { // dependencies first
		now := &pending{p, make(chan struct{})}
		all[p.ID] = now
		imports := map[string]*pending{}
		for path, of := range p.Imports {
			imports[path] = all[of.ID]
		}
		go func() {
			defer close(now.done)
			for path, of := range imports {
				<-of.done
				p.Imports[path] = of.pkg
			}
			if had := l.have[p.ID]; had != nil && l.same(had, p, overlay) {
				now.pkg = had
				return
			}
			slots <- struct{}{}
			l.check(p, slices.Contains(roots, p), overlay)
			<-slots
		}()
	})
	have := map[string]*packages.Package{}
	for id, p := range all {
		<-p.done
		have[id] = p.pkg
	}
	l.have, l.texts = have, maps.Clone(overlay)
	for i, p := range roots {
		roots[i] = l.have[p.ID]
	}
	return roots, nil
}

// same reports whether p would be as a package of the last Load.
func (l *Loader) same(had, p *packages.Package, overlay map[string][]byte) bool {
	return slices.Equal(had.CompiledGoFiles, p.CompiledGoFiles) &&
		maps.Equal(had.Imports, p.Imports) &&
		!slices.ContainsFunc(p.CompiledGoFiles, func(name string) bool {
			return !bytes.Equal(overlay[name], l.texts[name])
		})
}

// check parses and type-checks p, whose imports have been. The functions of
// packages that the rules do not look into are left out.
func (l *Loader) check(p *packages.Package, isRoot bool, overlay map[string][]byte) {
	p.Fset, p.Types = l.Fset, types.NewPackage(p.PkgPath, p.Name)
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return
	}
	for _, name := range p.CompiledGoFiles {
		var src any // or else what is on disk
		if text, ok := overlay[name]; ok {
			src = text
		}
		f, err := parser.ParseFile(l.Fset, name, src, parser.ParseComments|
			parser.SkipObjectResolution)
		if err != nil {
			note(p, err)
		}
		if f != nil {
			p.Syntax = append(p.Syntax, f)
		}
	}
	p.TypesInfo = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Implicits:  map[ast.Node]types.Object{},
		Instances:  map[*ast.Ident]types.Instance{},
		Scopes:     map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},

		FileVersions: map[*ast.File]string{},
	}
	c := types.Config{
		Importer: importer(p.Imports), Sizes: p.TypesSizes,
		Error:            func(err error) { note(p, err) },
		IgnoreFuncBodies: !isRoot && len(p.Syntax) > 0 && vet.Known(p.PkgPath, p.CompiledGoFiles[0]),
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.GoVersion = "go" + p.Module.GoVersion
	}
	err := types.NewChecker(&c, l.Fset, p.Types, p.TypesInfo).Files(p.Syntax)
	if err != nil && len(p.Errors) == 0 {
		note(p, err)
	}
	p.IllTyped = len(p.Errors) > 0
	for _, of := range p.Imports {
		p.IllTyped = p.IllTyped || of.IllTyped
	}
}

// importer has the packages that another one imports, by path.
type importer map[string]*packages.Package

func (i importer) Import(path string) (*types.Package, error) {
	switch p := i[path]; {
	case path == "unsafe":
		return types.Unsafe, nil
	case p == nil:
		return nil, errors.New("it is not loaded, or imports this package")
	default:
		return p.Types, nil
	}
}

// note notes an error of a package's.
func note(p *packages.Package, err error) {
	add := func(pos, text string, kind packages.ErrorKind) {
		p.Errors = append(p.Errors, packages.Error{Pos: pos, Msg: text, Kind: kind})
	}
	if e := (types.Error{}); errors.As(err, &e) {
		p.TypeErrors = append(p.TypeErrors, e)
		add(e.Fset.Position(e.Pos).String(), e.Msg, packages.TypeError)
		return
	}
	if list := (scanner.ErrorList{}); errors.As(err, &list) {
		for _, e := range list {
			add(e.Pos.String(), e.Msg, packages.ParseError)
		}
		return
	}
	add("-", err.Error(), packages.UnknownError)
}

// Mistake is an error of a package.
type Mistake struct {
	Pkg  *packages.Package
	File string // or "" if that is not known
	Line int
	Text string
}

// Mistakes are the errors of packages and of all that they depend on, but for
// those that known has; it has them all then.
func Mistakes(pkgs []*packages.Package, known map[string]bool) (all []Mistake) {
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		add := func(m Mistake) {
			if key := p.ID + ": " + m.Text; !known[key] {
				known[key] = true
				all = append(all, m)
			}
		}
		for _, e := range p.TypeErrors {
			at := e.Fset.PositionFor(e.Pos, false)
			add(Mistake{p, at.Filename, at.Line, e.Msg})
		}
		for _, e := range p.Errors {
			m := Mistake{Pkg: p, Text: e.Msg}
			if parts := strings.Split(e.Pos, ":"); len(parts) > 1 {
				m.File = parts[0]
				m.Line, _ = strconv.Atoi(parts[1])
			}
			if e.Kind != packages.TypeError {
				add(m)
			}
		}
	})
	return all
}

// Broken reports whether a package, or one that it depends on, does not
// compile.
func Broken(p *packages.Package) bool { return p.IllTyped || len(p.Errors) > 0 }

// FirstError is the first of a package's errors, in a line.
func FirstError(p *packages.Package) string {
	text, _, _ := strings.Cut(p.Errors[0].Error(), "\n")
	if len(p.Errors) > 1 {
		text = fmt.Sprintf("%s (and %d more)", text, len(p.Errors)-1)
	}
	return text
}

// Relative is a file's name as it is shown, from a folder.
func Relative(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}
