package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/objectpath"
)

// indirect is what a call by a variable calls: the function that v is, or a method
// of the value that v, an interface, has.
type indirect struct {
	v      *types.Var
	method string // or "" if v is a function
}

// fieldCall is a target that other packages may assign: a field or variable of
// the package Path.
type fieldCall struct {
	Path, Object string
	Method       string
}

// callee is a function that is called or started: a node, another package's
// function, or whatever a variable has.
type callee struct {
	to *node
	fn *types.Func
	by indirect
}

func (c callee) known() bool { return c.to != nil || c.fn != nil }

// callee returns what x runs when it is called. A variable stands for what it is
// assigned, if that is one function.
func (p *pkg) callee(x ast.Expr) callee { return p.calleeOf(x, map[*types.Var]bool{}) }

func (p *pkg) calleeOf(x ast.Expr, seen map[*types.Var]bool) callee {
	switch x := ast.Unparen(x).(type) {
	case *ast.FuncLit:
		return callee{to: p.literal(x)}
	case *ast.CallExpr:
		if len(x.Args) == 1 && p.TypesInfo.Types[x.Fun].IsType() {
			return p.calleeOf(x.Args[0], seen)
		}
		return callee{to: p.returns(x)}
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
		if fn := p.static(x); fn != nil {
			return p.method(x, fn)
		}
		v := p.variable(x)
		if v == nil {
			return callee{}
		}
		if from := p.onlyValue(v); from != nil && !seen[v] {
			seen[v] = true
			if c := p.calleeOf(from, seen); c.known() {
				return c
			}
		}
		return callee{by: indirect{v: v}}
	}
	return callee{}
}

// method returns the function fn that x names; if it is one of an interface
// whose value is known, that value's.
func (p *pkg) method(x ast.Expr, fn *types.Func) callee {
	fn = fn.Origin()
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok || !p.TypesInfo.Types[sel.X].IsValue() || !types.IsInterface(p.TypesInfo.TypeOf(sel.X)) {
		return callee{to: p.decls[fn], fn: fn}
	}
	if t := p.concrete(sel.X, map[*types.Var]bool{}); t != nil {
		if own := p.methodOf(t, fn.Name()); own.known() {
			return own
		}
	}
	c := callee{fn: fn}
	if v := p.variable(sel.X); v != nil {
		c.by = indirect{v, fn.Name()}
	}
	return c
}

func (p *pkg) methodOf(t types.Type, name string) callee {
	obj, _, _ := types.LookupFieldOrMethod(t, true, p.Pkg, name)
	fn, ok := obj.(*types.Func)
	if !ok {
		return callee{}
	}
	fn = fn.Origin()
	return callee{to: p.decls[fn], fn: fn}
}

// onlyValue returns the one expression that v is assigned, nil apart, if v is no
// parameter and all that is assigned to it is known.
func (p *pkg) onlyValue(v *types.Var) ast.Expr {
	vals := p.values[v]
	if vals == nil || vals.unknown || v.Kind() == types.ParamVar {
		return nil
	}
	return p.single(vals)
}

func (p *pkg) single(vals *values) (only ast.Expr) {
	for i, x := range vals.exprs {
		switch {
		case p.TypesInfo.Types[x].IsNil():
		case only != nil || vals.results[i] > 0:
			return nil
		default:
			only = x
		}
	}
	return only
}

// concrete returns the type that an interface's value has for certain, or nil.
func (p *pkg) concrete(x ast.Expr, seen map[*types.Var]bool) types.Type {
	x = ast.Unparen(x)
	if t := p.TypesInfo.TypeOf(x); t == nil || !types.IsInterface(t) {
		return t
	}
	switch x := x.(type) {
	case *ast.CallExpr:
		if len(x.Args) == 1 && p.TypesInfo.Types[x.Fun].IsType() {
			return p.concrete(x.Args[0], seen)
		}
	case *ast.Ident, *ast.SelectorExpr:
		v := p.variable(x)
		vals := p.values[v]
		if v == nil || vals == nil || vals.unknown || seen[v] {
			return nil
		}
		seen[v] = true
		var one types.Type
		for i, e := range vals.exprs {
			if p.TypesInfo.Types[e].IsNil() {
				continue
			}
			t := p.concrete(e, seen)
			if tuple, ok := t.(*types.Tuple); ok {
				if t = tuple.At(vals.results[i]).Type(); types.IsInterface(t) {
					t = nil
				}
			}
			if t == nil || one != nil && !types.Identical(one, t) {
				return nil
			}
			one = t
		}
		return one
	}
	return nil
}

// returns is the function that a call returns, if that is one function for
// certain, or nil.
func (p *pkg) returns(c *ast.CallExpr) *node {
	fn := p.static(c.Fun)
	if fn == nil {
		return nil
	}
	fn = fn.Origin()
	if n := p.decls[fn]; n != nil {
		return p.result(n)
	}
	sum := p.summaryOf(fn)
	if sum.Result == nil {
		return nil
	}
	if p.foreign[fn] == nil {
		n := p.node(nil, "what "+p.nameOf(nil, fn)+" returns", nil, nil)
		n.foreign, n.causes, n.waits = true, sum.Result.Causes, sum.Result.Waits
		for _, f := range sum.Result.Fields {
			n.callsField(p, f, c.Pos())
		}
		p.foreign[fn] = n
	}
	return p.foreign[fn]
}

// returnsOf are the return statements of a function itself.
func returnsOf(body ast.Node) (all []*ast.ReturnStmt) {
	ast.Inspect(body, func(x ast.Node) bool {
		if r, ok := x.(*ast.ReturnStmt); ok {
			all = append(all, r)
		}
		_, isLit := x.(*ast.FuncLit)
		return !isLit
	})
	return all
}

// result is the literal that n returns, if that is its one return.
func (p *pkg) result(n *node) *node {
	all := returnsOf(n.body)
	if n.fn.Signature().Results().Len() != 1 || len(all) != 1 || len(all[0].Results) != 1 {
		return nil
	}
	if lit, ok := ast.Unparen(all[0].Results[0]).(*ast.FuncLit); ok {
		return p.literal(lit)
	}
	return nil
}

// callsField notes that n calls a field of another package.
func (n *node) callsField(p *pkg, f fieldCall, pos token.Pos) {
	if v := p.field(f); v != nil {
		n.called[indirect{v, f.Method}] = pos
	}
}

// field finds the variable that another package's summary names.
func (p *pkg) field(f fieldCall) *types.Var {
	if p.imported == nil {
		p.imported = map[string]*types.Package{}
		var visit func(*types.Package)
		visit = func(pkg *types.Package) {
			if p.imported[pkg.Path()] == nil {
				p.imported[pkg.Path()] = pkg
				for _, other := range pkg.Imports() {
					visit(other)
				}
			}
		}
		visit(p.Pkg)
	}
	of := p.imported[f.Path]
	if of == nil {
		return nil
	}
	obj, err := objectpath.Object(of, objectpath.Path(f.Object))
	if err != nil {
		return nil
	}
	v, _ := obj.(*types.Var)
	return v
}

// fields are n's targets that other packages may assign.
func (p *pkg) fields(n *node) (all []fieldCall) {
	for t := range n.called {
		if !t.v.Exported() || p.decides(n, t.v) || !t.v.IsField() && t.v.Parent() != t.v.Pkg().Scope() {
			continue
		}
		if path, err := p.paths.For(t.v); err == nil {
			all = append(all, fieldCall{t.v.Pkg().Path(), string(path), t.method})
		}
	}
	slices.SortFunc(all, func(a, b fieldCall) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Method, b.Method))
	})
	return all[:min(len(all), maxCauses)]
}

// decides reports whether n assigns v: then what n calls by it is n's to say, and
// not its callers'.
func (p *pkg) decides(n *node, v *types.Var) bool {
	vals := p.values[v]
	return vals != nil && n.body != nil && slices.ContainsFunc(vals.exprs, func(x ast.Expr) bool {
		return holds(n.body, x)
	})
}

// assigned returns what a target is for certain: the one function that this
// package assigns to it. A default that the package of an exported field
// assigns is not: others replace it.
func (p *pkg) assigned(t indirect) callee {
	vals := p.values[t.v]
	if vals == nil || t.v.Kind() == types.ParamVar || t.v.Pkg() == p.Pkg && vals.unknown {
		return callee{}
	}
	from := p.single(vals)
	if from == nil {
		return callee{}
	}
	if t.method == "" {
		return p.callee(from)
	}
	if of := p.concrete(from, map[*types.Var]bool{}); of != nil {
		return p.methodOf(of, t.method)
	}
	return callee{}
}

// viaVariables makes calls of the fields and variables that n calls, and of
// which this package knows the value. A parameter that n assigns to one of them
// is called, too.
func (p *pkg) viaVariables(n *node) (changed bool) {
	for t, pos := range n.called {
		if t.v.Kind() == types.ParamVar || n.via[t] {
			continue
		}
		n.via[t] = true
		if c := p.assigned(t); c.known() && pos.IsValid() {
			changed = true
			n.calls = append(n.calls, call{to: c.to, fn: c.fn, pos: pos, end: pos})
		}
		if p.values[t.v] == nil {
			continue
		}
		for _, x := range p.values[t.v].exprs {
			if v := p.variable(x); v != nil && slices.Contains(n.params, v) {
				if _, ok := n.called[indirect{v, t.method}]; !ok {
					n.called[indirect{v, t.method}], changed = token.NoPos, true
				}
			}
		}
	}
	return changed
}
