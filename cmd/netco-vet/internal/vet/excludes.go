package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// maxSends bounds the sends that are compared with each other.
const maxSends = 12

// together returns how many of the sends or calls, in the order of the source,
// may be done one after the other.
func together[N ast.Node](w *walker, all []N) (most int) {
	if len(all) > maxSends {
		return len(all)
	}
	var chosen []N
	var choose func(from int)
	choose = func(from int) {
		most = max(most, len(chosen))
		for i := from; i < len(all); i++ {
			if !slices.ContainsFunc(chosen, func(n N) bool { return w.excludes(n, all[i]) }) {
				chosen = append(chosen, all[i])
				choose(i + 1)
				chosen = chosen[:len(chosen)-1]
			}
		}
	}
	choose(0)
	return most
}

// excludes reports whether not both of two nodes are reached in one run: they
// stand in two branches, the first returns after it, or one is for when the
// other panics or is not started.
func (w *walker) excludes(a, b ast.Node) bool {
	if w.afterPanic(a, b) || w.afterPanic(b, a) {
		return true
	}
	if s := w.refused(b); s != nil && holds(s.Init, a) {
		return true
	}
	below := a
	for up := w.parents[a]; up != nil; below, up = up, w.parents[up] {
		if holds(up, b) {
			switch up := up.(type) {
			case *ast.IfStmt:
				return below == up.Body && up.Else != nil && up.Else.Pos() <= b.Pos()
			case *ast.BlockStmt: // of a switch or a select?
				switch below.(type) {
				case *ast.CaseClause, *ast.CommClause:
					return true
				}
			}
			return false
		}
		if _, ok := up.(*ast.FuncLit); ok {
			return false
		}
		last := lastOf(up)
		if returns(up) {
			return true
		}
		if next, ok := last.(*ast.BranchStmt); ok && next.Tok == token.CONTINUE {
			loop := w.loop(next)
			return loop != nil && holds(loop, b)
		}
	}
	return false
}

// returns reports whether a block or clause ends with a return.
func returns(x ast.Node) bool {
	_, ok := lastOf(x).(*ast.ReturnStmt)
	return ok
}

// lastOf returns the last statement of a block or clause, or nil.
func lastOf(x ast.Node) ast.Stmt {
	var list []ast.Stmt
	switch x := x.(type) {
	case *ast.BlockStmt:
		list = x.List
	case *ast.CaseClause:
		list = x.Body
	case *ast.CommClause:
		list = x.Body
	}
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// afterPanic reports whether x stands in what handles a recovered panic, and
// other does not.
func (w *walker) afterPanic(x, other ast.Node) bool {
	for up := w.parents[x]; up != nil; up = w.parents[up] {
		s, ok := up.(*ast.IfStmt)
		if !ok || holds(s, other) {
			continue
		}
		recovers := false
		for _, n := range []ast.Node{s.Init, s.Cond} {
			if n == nil {
				continue
			}
			ast.Inspect(n, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				recovers = recovers || ok && w.TypesInfo.Types[c.Fun].IsBuiltin() &&
					types.ExprString(c.Fun) == "recover"
				return true
			})
		}
		if recovers {
			return true
		}
	}
	return false
}

// loopOf is loop for what may leave a loop by a return right after it.
func (w *walker) loopOf(x ast.Node) ast.Node {
	leaves := false
	for ; x != nil; x = w.parents[x] {
		switch x.(type) {
		case *ast.FuncLit:
			leaves = false
		case *ast.ForStmt, *ast.RangeStmt:
			if !leaves {
				return x
			}
		default:
			leaves = leaves || returns(x)
		}
	}
	return nil
}
