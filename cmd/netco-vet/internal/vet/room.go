package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// hasRoom reports whether a send always finds room in its channel.
func (w *walker) hasRoom(x *ast.SendStmt) bool {
	return w.neverFull(x) || w.first(x) || w.fills(x) || w.replies(x)
}

// neverFull reports whether a channel is made with room for all that is sent to
// it: the sends of which one does not exclude another, none in a loop that does
// not hold the make too. For a field all is in the function that makes the
// channel, or in one that only this function calls.
func (w *walker) neverFull(x *ast.SendStmt) bool {
	v := w.variable(x.Chan)
	if v == nil || w.values[v] == nil || w.values[v].unknown {
		return false
	}
	if v.Kind() == types.ParamVar {
		return w.enoughFor(v, x)
	}
	makes := w.makesOf(x.Chan, map[*types.Var]bool{})
	sends, ok := w.sendsTo(v, map[*types.Var]bool{})
	if !ok || len(makes) == 0 || v.IsField() && len(makes) > 1 {
		return false
	}
	room := w.least(makes)
	for _, made := range makes {
		for _, s := range sends {
			switch {
			case v.IsField() && w.onlyCalledBy(s, made):
			case w.loopOf(s) != w.loop(made) || w.declOf(s) != w.declOf(made),
				v.IsField() && !w.follows(s, made, x):
				return false
			}
		}
	}
	return int64(together(w, sends)) <= room
}

// follows reports whether a send to a field is to the channel that has been made
// before, as x is.
func (w *walker) follows(s *ast.SendStmt, made *ast.CallExpr, x *ast.SendStmt) bool {
	return made.Pos() < s.Pos() && types.ExprString(s.Chan) == types.ExprString(x.Chan)
}

// enoughFor reports whether all calls that are given one channel, for the
// parameter v, are done with the room that it is made with.
func (w *walker) enoughFor(v *types.Var, x *ast.SendStmt) bool {
	d, ok := w.declOf(x).(*ast.FuncDecl)
	sends, known := w.sendsTo(v, map[*types.Var]bool{})
	if !ok || !known || slices.ContainsFunc(sends, func(s *ast.SendStmt) bool {
		return w.loopOf(s) != nil
	}) {
		return false
	}
	var ch *types.Var
	for _, e := range w.values[v].exprs {
		own := w.variable(e)
		if own == nil || own.Kind() != types.LocalVar || ch != nil && own != ch {
			return false
		}
		ch = own
	}
	if ch == nil || w.values[ch] == nil || w.values[ch].unknown {
		return false
	}
	made, _ := ast.Unparen(w.single(w.values[ch])).(*ast.CallExpr)
	if made == nil || w.roomOf(made) == 0 {
		return false
	}
	var calls []*ast.CallExpr
	for _, id := range w.usesOf(ch) {
		c, called := w.parents[id].(*ast.CallExpr)
		switch {
		case called && w.static(c.Fun) == w.TypesInfo.Defs[d.Name]:
			if calls = append(calls, c); w.loopOf(c) != w.loop(made) {
				return false
			}
		case called && w.TypesInfo.Types[c.Fun].IsBuiltin():
		default:
			if u, ok := w.parents[id].(*ast.UnaryExpr); !ok || u.Op != token.ARROW {
				return false
			}
		}
	}
	return len(calls) > 0 && int64(together(w, calls)*together(w, sends)) <= w.roomOf(made)
}

// onlyCalledBy reports whether a send stands, and once only, in a function that
// is called at one place, as often as the channel is made.
func (w *walker) onlyCalledBy(s *ast.SendStmt, made *ast.CallExpr) bool {
	d, ok := w.declOf(s).(*ast.FuncDecl)
	if !ok || w.loopOf(s) != nil || w.declOf(made) == ast.Node(d) {
		return false
	}
	calls := w.usesOf(w.TypesInfo.Defs[d.Name])
	return len(calls) == 1 && w.declOf(calls[0]) == w.declOf(made) &&
		w.loopOf(calls[0]) == w.loop(made)
}

// declOf returns the declared function around a node.
func (w *walker) declOf(x ast.Node) ast.Node {
	return w.up(x, func(x ast.Node) bool { _, ok := x.(*ast.FuncDecl); return ok })
}

// first reports whether a send is to a channel that has just been made with
// room, before any other use of it.
func (w *walker) first(x *ast.SendStmt) bool {
	v := w.variable(x.Chan)
	if v == nil {
		return false
	}
	made := w.madeBefore(v, x)
	return made != nil && w.roomOf(made) > 0 && w.around(made) == w.around(x) &&
		w.loop(x) == w.loop(made) && !w.usedBetween(v, made, x.Chan)
}

// usedBetween reports whether v is used after a node and before another one.
func (w *walker) usedBetween(v *types.Var, after, before ast.Node) bool {
	return slices.ContainsFunc(w.usesOf(v), func(id *ast.Ident) bool {
		return after.End() < id.Pos() && id.End() <= before.Pos()
	})
}

// replies reports whether a send is to a channel of what has just been taken
// from a channel, a queue or the like: a request, each of which has a channel
// made for its answers.
func (w *walker) replies(x *ast.SendStmt) bool {
	sel, ok := ast.Unparen(x.Chan).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	v, request := w.variable(sel), w.variable(sel.X)
	if v == nil || !v.IsField() || request == nil || !w.taken(request, x) {
		return false
	}
	room := w.least(w.makesOf(sel, map[*types.Var]bool{}))
	var sends []*ast.SendStmt
	for _, id := range w.usesOf(v) {
		if up, ok := w.parents[w.parents[id]].(*ast.SendStmt); ok && w.around(up) == w.around(x) {
			sends = append(sends, up)
		}
	}
	return room > 0 && int64(together(w, sends)) <= room
}

// taken reports whether a local variable has a value of its own in each turn of
// the loop around x: it is received, or what a call returns.
func (w *walker) taken(v *types.Var, x ast.Node) bool {
	vals, loop := w.values[v], w.loop(x)
	if vals == nil || v.Kind() != types.LocalVar {
		return false
	}
	if r, ok := loop.(*ast.RangeStmt); ok && len(vals.exprs) == 0 {
		return w.variable(r.Key) == v || w.variable(r.Value) == v
	}
	return len(vals.exprs) > 0 && !slices.ContainsFunc(vals.exprs, func(e ast.Expr) bool {
		e = ast.Unparen(e)
		if a, ok := e.(*ast.TypeAssertExpr); ok {
			e = ast.Unparen(a.X)
		}
		u, received := e.(*ast.UnaryExpr)
		_, called := e.(*ast.CallExpr)
		return w.loop(e) != loop || !called && !(received && u.Op == token.ARROW)
	})
}

// releasesPlace reports whether a receive gives a place in a semaphore back: it
// drops an empty value which the same function, or one around it, has sent
// before, or another method of a type that is such a channel.
func (w *walker) releasesPlace(x *ast.UnaryExpr) bool {
	v := w.variable(x.X)
	t, ok := w.TypesInfo.TypeOf(x).Underlying().(*types.Struct)
	if _, dropped := w.parents[x].(*ast.ExprStmt); !dropped || !ok || t.NumFields() > 0 || v == nil {
		return false
	}
	if clause, ok := w.parents[w.parents[x]].(*ast.CommClause); ok && clause.Comm == w.parents[x] {
		return false
	}
	for _, made := range w.makesOf(x.X, map[*types.Var]bool{}) {
		if len(made.Args) < 2 {
			return false
		}
	}
	for id, obj := range w.TypesInfo.Uses {
		used, ok := obj.(*types.Var)
		method := ok && v.Kind() == types.RecvVar && used.Kind() == types.RecvVar && used != v &&
			types.Identical(used.Type(), v.Type())
		if !method && (!ok || origin(used) != v || id.Pos() > x.Pos()) {
			continue
		}
		var at ast.Node = id
		if sel, ok := w.parents[id].(*ast.SelectorExpr); ok {
			at = sel
		}
		send, ok := w.parents[at].(*ast.SendStmt)
		if ok && method && send.Chan == at {
			return true
		}
		if f := w.around(at); ok && send.Chan == at && holds(f, x) {
			return true
		}
	}
	return false
}

// loop returns the innermost loop around a node, in its function or the ones
// around that.
func (w *walker) loop(x ast.Node) ast.Node { return w.up(x, isLoop) }

// fills reports whether a send is the one of a loop that fills a channel which
// was made with room for as many values as the loop has turns.
func (w *walker) fills(x *ast.SendStmt) bool {
	v, loop := w.variable(x.Chan), w.loop(x)
	if v == nil || loop == nil || w.around(x) != w.around(loop) {
		return false
	}
	made := w.madeBefore(v, loop)
	if made == nil || w.around(made) != w.around(loop) ||
		w.loop(w.parents[loop]) != w.loop(made) || !w.turns(loop, made.Args[1]) {
		return false
	}
	return !slices.ContainsFunc(w.usesOf(v), func(id *ast.Ident) bool { // until it has ended
		return made.End() < id.Pos() && id.Pos() < loop.End() && !holds(x.Chan, id)
	})
}

// madeBefore returns the last call of make, with a capacity, for v that stands
// before loop.
func (w *walker) madeBefore(v *types.Var, loop ast.Node) (made *ast.CallExpr) {
	vals := w.values[v]
	if vals == nil || !v.IsField() && vals.unknown {
		return nil
	}
	for _, e := range vals.exprs {
		c, ok := ast.Unparen(e).(*ast.CallExpr)
		switch {
		case !ok || len(c.Args) != 2 || !w.isMake(c):
			if !v.IsField() {
				return nil
			}
		case c.Pos() < loop.Pos() && (made == nil || made.Pos() < c.Pos()):
			made = c
		}
	}
	return made
}

// around returns the function around a node.
func (p *pkg) around(x ast.Node) ast.Node { return p.up(x, isFunc) }

// turns reports whether a loop has room turns at most.
func (w *walker) turns(loop ast.Node, room ast.Expr) bool {
	switch loop := loop.(type) {
	case *ast.RangeStmt:
		if t, ok := w.TypesInfo.TypeOf(loop.X).Underlying().(*types.Basic); ok {
			return t.Info()&types.IsInteger != 0 && w.atMost(loop.X, room)
		}
		c, ok := ast.Unparen(room).(*ast.CallExpr)
		return ok && len(c.Args) == 1 && types.ExprString(c.Fun) == "len" &&
			w.TypesInfo.Types[c.Fun].IsBuiltin() && w.atMost(loop.X, c.Args[0])
	case *ast.ForStmt:
		init, isInit := loop.Init.(*ast.AssignStmt)
		up, isUp := loop.Post.(*ast.IncDecStmt)
		cond, isCond := loop.Cond.(*ast.BinaryExpr)
		if !isInit || !isUp || !isCond || len(init.Lhs) != 1 || len(init.Rhs) != 1 ||
			up.Tok != token.INC || cond.Op != token.LSS {
			return false
		}
		from, i := w.TypesInfo.Types[init.Rhs[0]].Value, w.variable(init.Lhs[0])
		return from != nil && constant.Sign(from) >= 0 && i != nil &&
			w.variable(up.X) == i && w.variable(cond.X) == i && w.atMost(cond.Y, room)
	}
	return false
}

// atMost reports whether x is at most y for certain: they are constants, or one
// variable.
func (w *walker) atMost(x, y ast.Expr) bool {
	a, b := w.TypesInfo.Types[x].Value, w.TypesInfo.Types[y].Value
	if a != nil && b != nil {
		return constant.Compare(constant.ToInt(a), token.LEQ, constant.ToInt(b))
	}
	v := w.variable(x)
	return v != nil && v == w.variable(y) && !w.reassigned[v] &&
		types.ExprString(x) == types.ExprString(y)
}
