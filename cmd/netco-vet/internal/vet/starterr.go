package vet

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// limited is a fact of a package: it sets MaxCoroutines.
type limited struct{}

func (*limited) AFact()         {}
func (*limited) String() string { return "limited" }

// noteLimit makes a fact of it if the package sets MaxCoroutines, by a field of
// scheduler.Options or a call.
func (p *pkg) noteLimit() {
	for id, obj := range p.TypesInfo.Uses {
		v, ok := obj.(*types.Var)
		if !ok || v.Name() != "MaxCoroutines" || !v.IsField() || v.Pkg() == nil {
			continue
		}
		if folder, ok := library(v.Pkg().Path()); !ok || folder != "scheduler" {
			continue
		}
		var x ast.Node = id
		if sel, ok := p.parents[x].(*ast.SelectorExpr); ok {
			x = sel
		}
		switch up := p.parents[x].(type) {
		case *ast.KeyValueExpr:
			p.limited = p.limited || up.Key == x
		case *ast.AssignStmt:
			p.limited = p.limited || slices.Contains(up.Lhs, x.(ast.Expr))
		case *ast.UnaryExpr:
			p.limited = true // its address: a flag's
		}
	}
	if p.limited {
		p.ExportPackageFact(&limited{})
	}
}

// mayRefuse reports whether a coroutine may be refused before the program ends:
// in a program of which a package sets MaxCoroutines, and in any other package,
// since it may be part of such a program.
func (p *pkg) mayRefuse() bool {
	if p.Pkg.Name() != "main" || p.limited {
		return true
	}
	return slices.ContainsFunc(p.AllPackageFacts(), func(f analysis.PackageFact) bool {
		_, is := f.Fact.(*limited)
		return is
	})
}

// maxPlaces bounds the places that one diagnostic names.
const maxPlaces = 8

// ignoredStarts reports the statements that drop the error of a start, all of a
// package at the first one.
func (p *pkg) ignoredStarts() {
	if !p.mayRefuse() {
		return
	}
	var all []event
	for _, n := range p.nodes {
		for _, e := range n.events {
			if e.rule == "starterr" && !p.isAllowed(e.pos) {
				all = append(all, e)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b event) int { return int(a.pos - b.pos) })
	what := "the error of " + all[0].what + " is ignored"
	if len(all) > 1 {
		var more []string
		for _, e := range all[1:min(len(all), maxPlaces+1)] {
			at := p.Fset.Position(e.pos)
			more = append(more, place(filepath.Base(at.Filename), at.Line))
		}
		if n := len(all) - 1 - len(more); n > 0 {
			more = append(more, fmt.Sprintf("%d more", n))
		}
		what += ", as at " + strings.Join(more, ", ")
	}
	p.add("starterr", analysis.Diagnostic{Pos: all[0].pos, End: all[0].end, Message: what +
		": with MaxCoroutines the coroutine may not have been started; check it, and close " +
		"what the coroutine was to close"})
}
