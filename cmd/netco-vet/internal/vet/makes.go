package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
)

// makesOf returns the calls that make the channels that x may be, none if others
// may be, too. A sync.Pool has what it makes.
func (w *walker) makesOf(x ast.Expr, seen map[*types.Var]bool) []*ast.CallExpr {
	makes, ok := w.addMakes(x, nil, seen)
	if !ok {
		return nil
	}
	return makes
}

func (w *walker) addMakes(
	x ast.Expr, makes []*ast.CallExpr, seen map[*types.Var]bool,
) (_ []*ast.CallExpr, ok bool) {
	x = ast.Unparen(x)
	if w.TypesInfo.Types[x].IsNil() {
		return makes, true
	}
	switch x := x.(type) {
	case *ast.TypeAssertExpr:
		return w.addMakes(x.X, makes, seen)
	case *ast.CallExpr:
		if w.isMake(x) {
			return append(makes, x), true
		}
		fn := w.static(x.Fun)
		if fn == nil || funcKey(fn) != "sync.Pool.Get" {
			return nil, false
		}
		return append(makes, w.pooled(ast.Unparen(x.Fun).(*ast.SelectorExpr).X)...), true
	case *ast.Ident, *ast.SelectorExpr:
		v := w.variable(x)
		vals := w.values[v]
		if v == nil || vals == nil || vals.unknown {
			return nil, false
		}
		if seen[v] {
			return makes, true
		}
		seen[v] = true
		for i, e := range vals.exprs {
			if _, asserted := ast.Unparen(e).(*ast.TypeAssertExpr); vals.results[i] > 0 && asserted {
				continue // whether it has the type
			}
			if vals.results[i] > 0 {
				return nil, false
			}
			if makes, ok = w.addMakes(e, makes, seen); !ok {
				return nil, false
			}
		}
		return makes, true
	}
	return nil, false
}

// pooled returns the calls of make that the New of a sync.Pool returns.
func (w *walker) pooled(pool ast.Expr) (makes []*ast.CallExpr) {
	v := w.variable(pool)
	if v == nil || w.values[v] == nil {
		return nil
	}
	for _, e := range w.values[v].exprs {
		ast.Inspect(e, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
				if c, ok := ast.Unparen(r.Results[0]).(*ast.CallExpr); ok && w.isMake(c) {
					makes = append(makes, c)
				}
			}
			return true
		})
	}
	return makes
}

// least is the room that all of them have.
func (w *walker) least(makes []*ast.CallExpr) int64 {
	if len(makes) == 0 {
		return 0
	}
	least := w.roomOf(makes[0])
	for _, c := range makes {
		least = min(least, w.roomOf(c))
	}
	return least
}

// roomOf is the capacity of the channel that a call makes, 0 if that is not
// known.
func (w *walker) roomOf(c *ast.CallExpr) (n int64) {
	if len(c.Args) == 2 && w.isMake(c) {
		if room := w.TypesInfo.Types[c.Args[1]].Value; room != nil {
			n, _ = constant.Int64Val(room)
		}
	}
	return n
}

// sendsTo returns the sends to v, and to the variables that it is assigned to,
// and whether there are no others: it is not handed to a function.
func (w *walker) sendsTo(v *types.Var, seen map[*types.Var]bool) (sends []*ast.SendStmt, ok bool) {
	if seen[v] {
		return nil, true
	}
	seen[v] = true
	for _, id := range w.usesOf(v) {
		x := ast.Expr(id)
		if sel, is := w.parents[x].(*ast.SelectorExpr); is && sel.Sel == id {
			x = sel
		}
		switch up := w.parents[x].(type) {
		case *ast.SendStmt:
			if up.Chan != x {
				return nil, false
			}
			sends = append(sends, up)
		case *ast.UnaryExpr, *ast.RangeStmt: // receives; an address makes v unknown
		case *ast.BinaryExpr: // is it nil?
		case *ast.AssignStmt:
			if slices.Contains(up.Lhs, x) {
				continue
			}
			other := w.assignedTo(up, x)
			if other == nil || w.values[other] == nil || w.values[other].unknown {
				return nil, false
			}
			more, ok := w.sendsTo(other, seen)
			if !ok {
				return nil, false
			}
			sends = append(sends, more...)
		case *ast.KeyValueExpr:
			if up.Key != x {
				return nil, false
			}
		case *ast.CallExpr:
			if !w.TypesInfo.Types[up.Fun].IsBuiltin() {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	slices.SortFunc(sends, func(a, b *ast.SendStmt) int { return int(a.Pos() - b.Pos()) })
	return sends, true
}

// assignedTo returns the variable that an assignment gives x to.
func (w *walker) assignedTo(a *ast.AssignStmt, x ast.Expr) *types.Var {
	i := slices.Index(a.Rhs, x)
	if i < 0 || len(a.Lhs) != len(a.Rhs) {
		return nil
	}
	return w.variable(a.Lhs[i])
}
