package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

// Planner returns what a port of a package to netco makes of its go statements
// outside of tests.
var Planner = &analysis.Analyzer{
	Name:       "netcoport",
	Doc:        "plan a port to netco",
	Requires:   []*analysis.Analyzer{find},
	ResultType: reflect.TypeFor[[]Statement](),
	Run: func(pass *analysis.Pass) (any, error) {
		if p := pass.ResultOf[find].(*result).pkg; p != nil {
			return p.plan(), nil
		}
		return []Statement(nil), nil
	},
}

func (p *pkg) plan() (all []Statement) {
	p.taken = map[ast.Node]map[string]bool{}
	for _, f := range p.Files {
		if isTest(p.Fset.File(f.FileStart).Name()) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.GoStmt); ok && p.refused(x) == nil {
				all = append(all, p.port(x))
			}
			return true
		})
	}
	return all
}

// Ported are the packages whose imports a port changes.
var Ported = []string{"net", "net/http"}

// File is a file as package net and net/http matter to it.
type File struct {
	Name      string              // on disk, whatever a //line directive says
	Imports   []analysis.TextEdit // of those that are ported
	Both      bool                // it imports one of netco's already
	Generated bool

	// Leak is the first use of what hands a type of theirs to another module, or
	// gets one from there, for which netco's package has one of its own.
	Leak *Use
	// Shared are such uses of what another file of this module declares.
	Shared []Use
}

// Use is a use of an object whose type mentions one of theirs.
type Use struct {
	Pos  token.Pos
	What string
	File string // that declares it
}

// Exchanges returns what a package's files have of such types, those of the
// packages std, in common with other files. own is for the paths of packages
// that are no other module's. The package may be one with errors.
func Exchanges(
	fset *token.FileSet, files []*ast.File, info *types.Info, own func(path string) bool,
	std ...string,
) []File {
	named := func(pos token.Pos) string { return fset.PositionFor(pos, false).Filename }
	all, index := make([]File, len(files)), map[string]*File{}
	for i, f := range files {
		all[i] = File{Name: named(f.FileStart), Generated: ast.IsGenerated(f)}
		index[all[i].Name] = &all[i]
		for _, spec := range f.Imports {
			switch path, _ := strconv.Unquote(spec.Path.Value); {
			case slices.Contains(Ported, path):
				all[i].Imports = append(all[i].Imports,
					replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(Ours(path))))
			case path == Ours("net") || path == Ours("net/http"):
				all[i].Both = true
			}
		}
	}
	differ := func(t types.Type) bool {
		return slices.ContainsFunc(std, func(std string) bool { return differs(t, std) })
	}
	for id, obj := range info.Uses {
		if obj.Pkg() == nil || slices.Contains(std, obj.Pkg().Path()) ||
			!mentions(obj.Type(), differ) {
			continue
		}
		f, from := index[named(id.Pos())], named(obj.Pos())
		t, isType := obj.(*types.TypeName)
		switch use := (Use{id.Pos(), describe(obj), from}); {
		case f == nil || from == f.Name || isType && !t.IsAlias():
		case own(obj.Pkg().Path()):
			f.Shared = append(f.Shared, use)
		case !isType && (f.Leak == nil || f.Leak.Pos > use.Pos):
			f.Leak = &use
		}
	}
	return all
}

// describe names an object as its users write it.
func describe(obj types.Object) string {
	name := obj.Name()
	if fn, ok := obj.(*types.Func); ok {
		name = shortName(fn)
	}
	return obj.Pkg().Name() + "." + name
}
