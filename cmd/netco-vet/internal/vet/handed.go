package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// functionArgs follows the functions, and the values with methods, that a call
// hands over.
func (w *walker) functionArgs(c *ast.CallExpr, to *node, fn *types.Func) {
	var sum summary
	if to == nil {
		sum = w.summaryOf(fn)
		if i, ok := spawnArgs[funcKey(fn)]; ok && i < len(c.Args) {
			if arg := w.callee(c.Args[i]); arg.known() {
				w.n.spawns = append(w.n.spawns, start{arg.to, arg.fn, c.Pos()})
			}
		}
		for _, f := range sum.Fields {
			w.n.callsField(w.pkg, f, c.Pos())
		}
		for _, called := range sum.Calls {
			if called.Index < len(c.Args) {
				w.runs(w.n, c.Args[called.Index], called.Method)
			}
		}
		for _, i := range sum.Starts {
			if i < len(c.Args) {
				w.startsAs(w.n, w.callee(c.Args[i]), c.Pos())
			}
		}
		return
	}
	for i, arg := range c.Args { // what to does with it is known when all have been walked
		if _, ok := w.TypesInfo.TypeOf(arg).Underlying().(*types.Signature); ok ||
			i < len(to.params) && types.IsInterface(to.params[i].Type()) {
			w.n.pending = append(w.n.pending, &handed{w.n, to, i, arg, map[indirect]bool{}, false})
		}
	}
}

// pull notes the sequence that a call of iter.Pull will run.
func (w *walker) pull(c *ast.CallExpr, fn *types.Func) {
	if fn == nil || funcKey(fn) != "iter.Pull" && funcKey(fn) != "iter.Pull2" {
		return
	}
	if seq := w.callee(c.Args[0]); seq.known() {
		w.n.calls = append(w.n.calls, call{to: seq.to, fn: seq.fn, pos: c.Pos(), end: c.End(),
			pulled: true})
	}
}

// handed is a value that a call of this package's function to hands over.
type handed struct {
	from, to *node
	param    int
	arg      ast.Expr
	called   map[indirect]bool // which of to's targets have been taken over
	started  bool
}

// runs notes that n calls x, or a method of it.
func (p *pkg) runs(n *node, x ast.Expr, method string) {
	var c callee
	if method == "" {
		c = p.callee(x)
	} else if t := p.concrete(x, map[*types.Var]bool{}); t != nil {
		c = p.methodOf(t, method)
	} else if v := p.variable(x); v != nil {
		c.by = indirect{v, method}
	}
	p.calls(n, c.by, x.Pos())
	if c.known() {
		n.calls = append(n.calls, call{to: c.to, fn: c.fn, pos: x.Pos(), end: x.End()})
	}
}

func (p *pkg) startsAs(n *node, c callee, pos token.Pos) {
	if c.by.v != nil && c.by.method == "" {
		n.started[c.by.v] = true
	}
	if c.known() {
		n.starts = append(n.starts, start{to: c.to, fn: c.fn, pos: pos})
	}
}

// handOver makes calls and starts of what n hands to this package's own
// functions. It reports whether there were any to make.
func (p *pkg) handOver(n *node) (changed bool) {
	for _, h := range n.pending {
		if h.param >= len(h.to.params) {
			continue
		}
		param := h.to.params[h.param]
		for t := range h.to.called {
			if t.v == param && !h.called[t] {
				h.called[t], changed = true, true
				p.runs(h.from, h.arg, t.method)
			}
		}
		if h.to.started[param] && !h.started {
			h.started, changed = true, true
			p.startsAs(h.from, p.callee(h.arg), h.arg.Pos())
		}
	}
	return changed
}
