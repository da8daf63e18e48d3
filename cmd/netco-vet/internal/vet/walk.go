package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/cfg"
)

// walker goes through one function.
type walker struct {
	*pkg
	n *node
}

// state is what is held at a statement on all ways there. A nil state is that of
// a statement that has not been reached.
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

func (s *state) equal(other *state) bool {
	return other != nil && slices.Equal(s.held, other.held) && slices.Equal(s.unsent, other.unsent)
}

// body walks a function: its statements, and its calls.
func (w *walker) body() {
	ast.Inspect(w.n.body, w.visit)
	w.flow()
	slices.SortStableFunc(w.n.events, func(a, b event) int { return int(a.pos - b.pos) })
	slices.SortStableFunc(w.n.calls, func(a, b call) int { return int(a.end - b.end) })
}

// visit notes what a node says wherever it stands.
func (w *walker) visit(x ast.Node) bool {
	switch x := x.(type) {
	case *ast.FuncLit:
		w.literal(x)
		return false
	case *ast.UnaryExpr:
		if x.Op == token.ARROW && !w.isCase(x) {
			w.receive(x)
		}
	case *ast.TypeAssertExpr:
		w.assertion(x)
	case *ast.CompositeLit:
		for _, e := range x.Elts { // such as one of netco's structs, which starts its fields
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				w.startField(kv.Key, kv.Value)
			}
		}
	case *ast.RangeStmt:
		w.rangeStmt(x)
	case *ast.TypeSwitchStmt:
		w.typeCases(x)
	case *ast.SelectStmt:
		w.selectStmt(x)
	case *ast.GoStmt:
		w.goHandler(x)
	case *ast.SendStmt:
		if !w.isCase(x) && !w.hasRoom(x.Chan) {
			w.event(finding{"chan", "send to a Go channel", cureChannel}, x, nil)
		}
	case *ast.ExprStmt:
		w.ignoredStart(x)
	case *ast.AssignStmt:
		for i, e := range x.Lhs {
			if len(x.Lhs) == len(x.Rhs) {
				w.startField(e, x.Rhs[i])
			}
		}
	}
	return true
}

// isCase reports whether a send or a receive is a select's, which is one event.
func (w *walker) isCase(x ast.Node) bool {
	for {
		switch up := w.parents[x].(type) {
		case *ast.ParenExpr, *ast.ExprStmt, *ast.AssignStmt:
			x = up
		case *ast.CommClause:
			return up.Comm == x
		default:
			return false
		}
	}
}

// flow walks the calls of a function in the order in which it makes them, until
// it is known what is held at each.
func (w *walker) flow() {
	g := cfg.New(w.n.body, func(*ast.CallExpr) bool { return true })
	var order []*cfg.Block // each after those that lead to it, but for loops
	seen := map[*cfg.Block]bool{}
	var visit func(*cfg.Block)
	visit = func(b *cfg.Block) {
		if !seen[b] {
			seen[b] = true
			for _, next := range slices.Backward(b.Succs) {
				visit(next)
			}
			order = append(order, b)
		}
	}
	for _, b := range g.Blocks { // what the entry does not lead to is dead code
		visit(b)
	}
	slices.Reverse(order)
	at, visited := make([]*state, len(g.Blocks)), *w.n
	for changed := true; changed; {
		changed = false
		w.n.events, w.n.calls, w.n.pending = slices.Clip(visited.events), nil, nil
		w.n.starts, w.n.spawns = slices.Clip(visited.starts), nil
		done := map[*cfg.Block]bool{}
		for _, b := range order {
			s := at[b.Index].copy()
			if s == nil {
				s = newState()
			}
			for _, x := range b.Nodes {
				w.callsIn(x, s)
			}
			done[b] = true
			for _, next := range b.Succs {
				if now := merge(at[next.Index], s); b.Live && !now.equal(at[next.Index]) {
					at[next.Index] = now
					changed = changed || done[next]
				}
			}
		}
	}
}

// callsIn walks the calls of a statement or an expression, arguments first. What
// a go statement calls is a goroutine. A deferred call runs at the end, with what
// is held there, which is not known: only what it blocks in counts.
func (w *walker) callsIn(x ast.Node, s *state) {
	var calls []*ast.CallExpr
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.literal(n)
			return false
		case *ast.CallExpr:
			calls = append(calls, n)
		}
		return true
	})
	for _, c := range slices.Backward(calls) {
		switch up := x.(type) {
		case *ast.GoStmt:
			if c == up.Call {
				continue
			}
		case *ast.DeferStmt:
			if c == up.Call {
				w.call(c, newState())
				continue
			}
		}
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
		if ok && f.cure == cureHTTP && w.ownTransport() {
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
	w.pull(c, fn)
}

// ownTransport reports whether this package uses a Transport of netco's. Which of
// net/http's clients have it is not followed then: all count as parking.
func (p *pkg) ownTransport() bool {
	for _, obj := range p.TypesInfo.Uses {
		if obj.Pkg() != nil && strings.HasSuffix(obj.Name(), "Transport") {
			if folder, ok := library(obj.Pkg().Path()); ok && folder == "net/http" {
				return true
			}
		}
	}
	return false
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
	from := w.source(sel.X, isStandard)
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
	case !types.IsInterface(n), w.source(c.Args[0], isStandard) != nil:
		w.event(finding{"net", funcKey(fn), cureNet}, c, w.importFix("net"))
	default:
		at.parks = shortName(fn)
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
	if fn := w.called(x.X); fn != nil && refusing[funcKey(fn.Origin())] {
		w.event(finding{"starterr", fn.Pkg().Name() + "." + shortName(fn), ""}, x, nil)
	}
}
