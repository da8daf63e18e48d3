package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// receive notes a receive that is not a select's.
func (w *walker) receive(x *ast.UnaryExpr) {
	if w.notEmpty(x) || w.releasesPlace(x) {
		return
	}
	f := w.receiveFrom(x.X)
	w.event(f, x, w.receiveFix(x, f))
}

// hasRoom reports whether a channel is made with room, by all that it is
// assigned: whether a send finds it full is not known. What a sync.Pool has is
// made for one answer.
func (w *walker) hasRoom(ch ast.Expr) bool {
	return w.source(ch, func(c *ast.CallExpr, fn *types.Func) bool {
		if fn != nil {
			return funcKey(fn) == "sync.Pool.Get"
		}
		if !w.TypesInfo.Types[c.Fun].IsBuiltin() || len(c.Args) != 2 {
			return false
		}
		room := w.TypesInfo.Types[c.Args[1]].Value // nil if it is computed
		return room == nil || constant.Sign(room) > 0
	}) != nil
}

// releasesPlace reports whether a receive gives a place in a semaphore back: it
// drops an empty value of a channel to which the same function, or one around
// it, has sent before, or of which it is a method.
func (w *walker) releasesPlace(x *ast.UnaryExpr) (yes bool) {
	t, ok := w.TypesInfo.TypeOf(x).Underlying().(*types.Struct)
	if _, dropped := w.parents[x].(*ast.ExprStmt); !dropped || !ok || t.NumFields() > 0 {
		return false
	}
	if v := w.variable(x.X); v != nil && v.Kind() == types.RecvVar {
		return true
	}
	ch := types.ExprString(x.X)
	ast.Inspect(w.declOf(x), func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && !holds(lit, x) {
			return false
		}
		s, ok := n.(*ast.SendStmt)
		yes = yes || ok && s.Pos() < x.Pos() && types.ExprString(s.Chan) == ch
		return !yes
	})
	return yes
}

// notEmpty reports whether a receive stands in a loop or a branch that is for
// when its channel has something, by its len.
func (w *walker) notEmpty(x *ast.UnaryExpr) bool {
	want := "len(" + types.ExprString(x.X) + ") > 0"
	for n := w.parents[x]; n != nil; n = w.parents[n] {
		var cond ast.Expr
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt:
			cond = n.Cond
		case *ast.IfStmt:
			if holds(n.Body, x) {
				cond = n.Cond
			}
		}
		if cond != nil && types.ExprString(cond) == want {
			return true
		}
	}
	return false
}

// receiveFrom describes a receive by where its channel comes from.
func (w *walker) receiveFrom(ch ast.Expr) finding {
	switch ch := ast.Unparen(ch).(type) {
	case *ast.CallExpr:
		if fn := w.static(ch.Fun); fn != nil {
			switch funcKey(fn) {
			case "context.Context.Done":
				return finding{"done", "receive from " + types.ExprString(ch),
					"use sync.Wait(ctx) of netco/sync"}
			case "time.After":
				return finding{"time", "receive from time.After",
					"use netco.After or netco.Sleep"}
			case "time.Tick":
				return finding{"time", "receive from time.Tick", "use netco.Tick"}
			}
		}
	case *ast.SelectorExpr:
		if v := w.variable(ch); v != nil && v.IsField() && v.Pkg() != nil &&
			v.Pkg().Path() == "time" {
			typ := w.timerType(ch)
			return finding{"time", "receive from a time." + typ, "use netco.New" + typ}
		}
	}
	return finding{"chan", "receive from a Go channel", cureChannel}
}

func (w *walker) timerType(x *ast.SelectorExpr) string {
	if n := named(w.TypesInfo.TypeOf(x.X)); n != nil && n.Obj().Name() == "Ticker" {
		return "Ticker"
	}
	return "Timer"
}

// rangeStmt notes a range over a channel.
func (w *walker) rangeStmt(x *ast.RangeStmt) {
	if t := w.TypesInfo.TypeOf(x.X); t != nil {
		if _, ok := types.Unalias(t).Underlying().(*types.Chan); ok {
			f := w.receiveFrom(x.X)
			f.what = "range over" + f.what[len("receive from"):]
			w.n.events = append(w.n.events, event{finding: f, pos: x.For, end: x.X.End()})
		}
	}
}

// selectStmt notes a select that may wait.
func (w *walker) selectStmt(x *ast.SelectStmt) {
	f := finding{
		"chan", "select",
		"use channel.Select of netco/channel, with netco.After and netco/sync for times and contexts",
	}
	for _, c := range x.Body.List {
		comm := c.(*ast.CommClause).Comm
		if comm == nil {
			return // a default: it does not wait
		}
		if from := w.receiveFrom(commChan(comm)); len(x.Body.List) == 1 && from.rule != "chan" {
			f = from
		}
	}
	w.n.events = append(w.n.events, event{finding: f, pos: x.Select, end: x.Body.Lbrace})
}

// commChan is the channel of a select's case.
func commChan(comm ast.Stmt) ast.Expr {
	var x ast.Expr
	switch comm := comm.(type) {
	case *ast.SendStmt:
		return comm.Chan
	case *ast.ExprStmt:
		x = comm.X
	case *ast.AssignStmt:
		x = comm.Rhs[0]
	}
	if u, ok := ast.Unparen(x).(*ast.UnaryExpr); ok {
		return u.X
	}
	return x
}
