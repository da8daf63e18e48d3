package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// walker goes through one function in the order of its statements, with what is
// held at each of them on all ways there.
type walker struct {
	*pkg
	n       *node
	targets []*target // the statements around, outermost first
}

// target is a statement that break ends, with the states there, and at continue
// where the loop may end after it.
type target struct {
	label         string
	loop, endless bool
	ends          []*state
}

// state is what is held at a statement. A nil state is that of a statement that
// is not reached.
type state struct {
	held   []held
	unsent []*types.Var // Buffereds
}

func newState() *state { return &state{} }

func (s *state) copy() *state {
	if s == nil {
		return nil
	}
	return &state{slices.Clone(s.held), slices.Clone(s.unsent)}
}

// merge keeps what is held on all the ways that lead on.
func merge(all ...*state) (m *state) {
	for _, s := range all {
		if s == nil {
			continue
		}
		if m == nil {
			m = s.copy()
			continue
		}
		m.held = slices.DeleteFunc(m.held, func(h held) bool { return !slices.Contains(s.held, h) })
		m.unsent = slices.DeleteFunc(m.unsent, func(v *types.Var) bool {
			return !slices.Contains(s.unsent, v)
		})
	}
	return m
}

func (w *walker) block(list []ast.Stmt, s *state) *state {
	for _, x := range list {
		s = w.stmt(x, s)
	}
	return s
}

// stmt walks a statement and returns the state after it.
func (w *walker) stmt(x ast.Stmt, s *state) *state {
	if s == nil {
		s = newState() // by a label, or dead code
	}
	switch x := x.(type) {
	case *ast.BlockStmt:
		return w.block(x.List, s)
	case *ast.LabeledStmt:
		return w.stmt(x.Stmt, s)
	case *ast.IfStmt:
		s = w.optional(x.Init, s)
		w.expr(x.Cond, s)
		then, other := w.block(x.Body.List, s.copy()), s
		if x.Else != nil {
			other = w.stmt(x.Else, s.copy())
		}
		return merge(then, other)
	case *ast.ForStmt:
		s = w.optional(x.Init, s)
		w.expr(x.Cond, s)
		t := w.enter(x)
		t.endless = x.Cond == nil
		body := w.optional(x.Post, w.block(x.Body.List, s.copy()))
		if !t.endless {
			t.ends = append(t.ends, s, body)
		}
		return w.leave(t)
	case *ast.RangeStmt:
		w.rangeStmt(x, s)
		t := w.enter(x)
		t.ends = append(t.ends, s, w.block(x.Body.List, s.copy()))
		return w.leave(t)
	case *ast.SwitchStmt:
		s = w.optional(x.Init, s)
		w.expr(x.Tag, s)
		return w.clauses(x, x.Body, s)
	case *ast.TypeSwitchStmt:
		s = w.optional(x.Init, s)
		w.typeCases(x)
		return w.clauses(x, x.Body, w.stmt(x.Assign, s))
	case *ast.SelectStmt:
		w.selectStmt(x)
		return w.clauses(x, x.Body, s)
	case *ast.ReturnStmt:
		for _, e := range x.Results {
			w.expr(e, s)
		}
		return nil
	case *ast.BranchStmt:
		w.branch(x, s)
		return nil
	case *ast.GoStmt:
		w.goStmt(x, s)
	case *ast.DeferStmt:
		w.deferred(x.Call, s)
	case *ast.SendStmt:
		w.expr(x.Chan, s)
		w.expr(x.Value, s)
		if !w.hasRoom(x) {
			w.event(finding{"chan", "send to a Go channel", cureChannel}, x, w.chanFix(x.Chan))
		}
	case *ast.ExprStmt:
		w.ignoredStart(x)
		w.expr(x.X, s)
	case *ast.AssignStmt:
		for _, e := range x.Rhs {
			w.expr(e, s)
		}
		for i, e := range x.Lhs {
			w.expr(e, s)
			if len(x.Lhs) == len(x.Rhs) {
				w.startField(e, x.Rhs[i])
			}
		}
	default:
		if x != nil {
			w.expr(x, s)
		}
	}
	return s
}

func (w *walker) optional(x ast.Stmt, s *state) *state {
	if x == nil {
		return s
	}
	return w.stmt(x, s)
}

// enter begins a statement that break ends. leave ends it, and returns the state
// after it.
func (w *walker) enter(x ast.Stmt) *target {
	t := &target{}
	if l, ok := w.parents[x].(*ast.LabeledStmt); ok {
		t.label = l.Label.Name
	}
	switch x.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		t.loop = true
	}
	w.targets = append(w.targets, t)
	return t
}

func (w *walker) leave(t *target) *state {
	w.targets = w.targets[:len(w.targets)-1]
	return merge(t.ends...)
}

// branch notes the state at a break or continue.
func (w *walker) branch(x *ast.BranchStmt, s *state) {
	if x.Tok != token.BREAK && x.Tok != token.CONTINUE {
		return
	}
	for _, t := range slices.Backward(w.targets) {
		if x.Label != nil && x.Label.Name == t.label ||
			x.Label == nil && (t.loop || x.Tok == token.BREAK) {
			if x.Tok == token.BREAK || !t.endless {
				t.ends = append(t.ends, s.copy())
			}
			return
		}
	}
}

// clauses walks the cases of a switch or a select.
func (w *walker) clauses(x ast.Stmt, body *ast.BlockStmt, s *state) *state {
	complete, t := false, w.enter(x)
	for _, c := range body.List {
		at := s.copy()
		switch c := c.(type) {
		case *ast.CaseClause:
			complete = complete || c.List == nil
			for _, e := range c.List {
				w.expr(e, at)
			}
			t.ends = append(t.ends, w.block(c.Body, at))
		case *ast.CommClause:
			complete = true
			if c.Comm != nil {
				w.expr(commChan(c.Comm), at)
				if send, ok := c.Comm.(*ast.SendStmt); ok {
					w.expr(send.Value, at)
				}
			}
			t.ends = append(t.ends, w.block(c.Body, at)) // the select itself is one event
		}
	}
	if !complete {
		t.ends = append(t.ends, s)
	}
	return w.leave(t)
}

// expr walks what is evaluated, calls in the order of the source.
func (w *walker) expr(x ast.Node, s *state) {
	switch x := x.(type) {
	case nil:
		return
	case ast.Expr:
		if x == nil {
			return
		}
	}
	var calls []*ast.CallExpr
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.literal(n)
			return false
		case *ast.CallExpr:
			calls = append(calls, n)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				w.receive(n)
			}
		case *ast.TypeAssertExpr:
			w.assertion(n)
		case *ast.CompositeLit:
			w.startFields(n)
		}
		return true
	})
	for _, c := range slices.Backward(calls) { // arguments first
		w.call(c, s)
	}
}

func (w *walker) event(f finding, at ast.Node, fix fixer) {
	w.n.events = append(w.n.events, event{finding: f, pos: at.Pos(), end: at.End(), fix: fix})
}

// call notes a call and what it does to the state.
func (w *walker) call(c *ast.CallExpr, s *state) {
	if tv, ok := w.TypesInfo.Types[c.Fun]; ok && (tv.IsType() || tv.IsBuiltin()) {
		return
	}
	of := w.callee(c.Fun)
	w.calls(w.n, of.by, c.Pos())
	w.unlockedBy(c, of, s)
	if !of.known() {
		return
	}
	to, fn := of.to, of.fn
	at := call{to: to, fn: fn, pos: c.Pos(), end: c.End()}
	if to != nil {
		at.fn = nil
	}
	if fn != nil {
		if w.lock(c, fn, s) {
			return
		}
		f, ok := blocks(fn)
		if ok && f.cure == cureHTTP && w.parkingClient(c, fn) {
			at.parks, ok = shortName(fn), false
		}
		if ok {
			if w.asserted(c) {
				return
			}
			if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && f.rule == "net" {
				if n := named(w.TypesInfo.TypeOf(sel.X)); n != nil &&
					w.TypesInfo.Selections[sel] != nil {
					f.what = "net." + n.Obj().Name() + "." + fn.Name() // not the type that it is embedded from
				}
			}
			w.event(f, c, w.callFix(c, fn, f))
			if f.rule == "time" && len(s.unsent) > 0 {
				w.event(unsentAcross(s.unsent[0], funcKey(fn)), c, nil)
			}
			return
		}
		w.byInterface(c, fn)
		w.buffersWrite(c, fn, &at)
		own := w.buffered(c, fn, s)
		if len(s.unsent) > 0 && s.unsent[0] != own {
			at.unsent = s.unsent[0]
		}
	}
	at.held = slices.Clone(s.held)
	w.n.calls = append(w.n.calls, at)
	w.functionArgs(c, to, fn)
}

// asserted reports whether c's receiver is a variable that has its type by an
// assertion or a type switch: then it may never have a value of that type.
func (w *walker) asserted(c *ast.CallExpr) bool {
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || w.TypesInfo.Selections[sel] == nil {
		return false
	}
	v := w.variable(sel.X)
	if v == nil || v.Kind() != types.LocalVar {
		return false
	}
	vals := w.values[v]
	if vals == nil {
		return w.implicit(v)
	}
	return slices.ContainsFunc(vals.exprs, func(x ast.Expr) bool {
		_, is := ast.Unparen(x).(*ast.TypeAssertExpr)
		return is
	})
}

// implicit reports whether v is a type switch's.
func (w *walker) implicit(v *types.Var) bool {
	for _, obj := range w.TypesInfo.Implicits {
		if obj == types.Object(v) {
			return true
		}
	}
	return false
}

// calls notes that n calls a variable.
func (p *pkg) calls(n *node, t indirect, pos token.Pos) {
	if t.v == nil {
		return
	}
	if at, ok := n.called[t]; !ok || !at.IsValid() {
		n.called[t] = pos
	}
}

// deferred walks a deferred call. It runs at the end, with what is held there,
// which is not known: only what it blocks in counts.
func (w *walker) deferred(c *ast.CallExpr, s *state) {
	for _, arg := range c.Args {
		w.expr(arg, s)
	}
	w.expr(c.Fun, s)
	w.call(c, newState())
}

// goStmt walks the arguments of a go statement. What it calls is a goroutine.
func (w *walker) goStmt(x *ast.GoStmt, s *state) {
	for _, arg := range x.Call.Args {
		w.expr(arg, s)
	}
	if lit, ok := x.Call.Fun.(*ast.FuncLit); ok {
		w.literal(lit)
	} else {
		w.expr(x.Call.Fun, s)
	}
	w.goHandler(x)
}

// buffered notes what a call does to a socket.Buffered, and returns that.
func (w *walker) buffered(c *ast.CallExpr, fn *types.Func, s *state) *types.Var {
	key, ok := strings.CutPrefix(funcKey(fn), "socket/Buffered.")
	sel, isSel := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || !isSel {
		for _, arg := range c.Args { // a function that is given it may flush
			if v := w.variable(arg); v != nil {
				if strings.HasPrefix(funcKey(fn), "fmt.Fprint") && isBuffered(v.Type()) {
					s.unsent = append(s.unsent, v)
					continue
				}
				s.unsent = slices.DeleteFunc(s.unsent, func(x *types.Var) bool { return x == v })
			}
		}
		return nil
	}
	v := w.variable(sel.X)
	if v == nil {
		return nil
	}
	switch {
	case strings.HasPrefix(key, "Write") && key != "WriteTo":
		if !slices.Contains(s.unsent, v) {
			s.unsent = append(s.unsent, v)
		}
	case hasPrefix(key, "Flush", "Read", "Peek", "Wait", "Discard", "Close", "WriteTo"):
		s.unsent = slices.DeleteFunc(s.unsent, func(x *types.Var) bool { return x == v })
	}
	return v
}

func isBuffered(t types.Type) bool {
	n := named(t)
	if n == nil || n.Obj().Pkg() == nil {
		return false
	}
	return n.Obj().Name() == "Buffered" && n.Obj().Pkg().Path() == module+"/socket"
}

// unsentAcross is the finding for a Buffered that does not send what it has.
func unsentAcross(v *types.Var, what string) finding {
	return finding{
		"flush", v.Name() + " has something unsent across " + what, "call " + v.Name() +
			".Flush first",
	}
}

// byInterface notes a call of a connection or listener that is package net's
// for certain.
func (w *walker) byInterface(c *ast.CallExpr, fn *types.Func) {
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || !ofInterface(fn) {
		return
	}
	from := w.source(sel.X, isStandard, map[*types.Var]bool{})
	if from == nil {
		return
	}
	source := w.static(from.Fun)
	what := shortName(fn) + " of what " + funcKey(source) + " at " + w.posn(from.Pos()) +
		" returned"
	f := finding{"net", what, cureNet}
	if source.Pkg().Path() == "crypto/tls" {
		f.rule, f.cure = "tls", cureTLS
		w.event(f, c, nil)
		return
	}
	w.event(f, c, w.importFix("net"))
}

// buffersWrite notes what a net.Buffers does to what it writes to, which need
// not be a connection.
func (w *walker) buffersWrite(c *ast.CallExpr, fn *types.Func, at *call) {
	if funcKey(fn) != "net.Buffers.WriteTo" || len(c.Args) != 1 {
		return
	}
	to := w.TypesInfo.TypeOf(c.Args[0])
	n := named(to)
	switch {
	case n == nil || n.Obj().Pkg() == nil || !isConn(to):
	case n.Obj().Pkg().Path() != "net":
	case !types.IsInterface(n), w.source(c.Args[0], isStandard, map[*types.Var]bool{}) != nil:
		w.event(finding{"net", funcKey(fn), cureNet}, c, w.importFix("net"))
	default:
		at.parks = shortName(fn)
	}
}

// startFields notes the coroutines that a literal of one of netco's structs
// will start.
func (w *walker) startFields(lit *ast.CompositeLit) {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			w.startField(kv.Key, kv.Value)
		}
	}
}

// startField notes a coroutine if field is one whose function runs on one.
func (w *walker) startField(field, value ast.Expr) {
	v := w.variable(field)
	if v == nil || !v.IsField() || v.Pkg() == nil {
		return
	}
	folder, ok := library(v.Pkg().Path())
	if !ok || !slices.Contains(startFields[folder], v.Name()) {
		return
	}
	w.startsAs(w.n, w.callee(value), value.Pos())
}

// ignoredStart notes a statement that starts a coroutine and drops the error.
// One that is assigned to _ is dropped on purpose.
func (w *walker) ignoredStart(x *ast.ExprStmt) {
	c, ok := ast.Unparen(x.X).(*ast.CallExpr)
	if !ok {
		return
	}
	if fn := w.static(c.Fun); fn != nil && refusing[funcKey(fn.Origin())] {
		w.event(finding{"starterr", fn.Pkg().Name() + "." + shortName(fn), ""}, x, nil)
	}
}
