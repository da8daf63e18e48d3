package vet

import (
	"go/ast"
	"go/types"
)

// assertion notes an assertion that a connection or listener of netco's has a
// type of package net's, which it never has.
func (w *walker) assertion(x *ast.TypeAssertExpr) {
	if x.Type == nil {
		return // a type switch
	}
	if _, ok := w.parents[x].(*ast.TypeSwitchStmt); ok {
		return
	}
	t := w.TypesInfo.TypeOf(x.Type)
	if t == nil || !differs(t, "net") || !w.netcos(x.X) {
		return
	}
	cost := "panics"
	if tuple, ok := w.TypesInfo.TypeOf(x).(*types.Tuple); ok && tuple.Len() == 2 {
		cost = "is never ok"
	}
	w.wrongType(x.X, t, cost, x)
}

// typeCases is assertion for the cases of a type switch. A switch that has cases
// for netco's own types is as it should be.
func (w *walker) typeCases(s *ast.TypeSwitchStmt) {
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		x = ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr).X
	case *ast.ExprStmt:
		x = ast.Unparen(a.X).(*ast.TypeAssertExpr).X
	}
	var first ast.Expr
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			t := w.TypesInfo.TypeOf(e)
			if t == nil {
				continue
			}
			if n := named(t); n != nil && n.Obj().Pkg() != nil {
				if _, own := library(n.Obj().Pkg().Path()); own {
					return
				}
			}
			if first == nil && differs(t, "net") {
				first = e
			}
		}
	}
	if first != nil && w.netcos(x) {
		w.wrongType(x, w.TypesInfo.TypeOf(first), "never matches", first)
	}
}

func (w *walker) wrongType(x ast.Expr, t types.Type, cost string, at ast.Node) {
	w.event(finding{
		"assert",
		types.ExprString(x) + " is netco's, so the assertion of package net's " +
			types.TypeString(t, (*types.Package).Name) + " " + cost,
		"change the import to netco/net",
	}, at, w.importFix("net"))
}

// netcos reports whether x is a connection or listener of netco's for certain.
func (p *pkg) netcos(x ast.Expr) bool {
	return p.source(x, isNetco) != nil
}
