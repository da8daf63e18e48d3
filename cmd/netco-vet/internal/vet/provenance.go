package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// values are all that is assigned to a variable or a field.
type values struct {
	exprs   []ast.Expr
	results []int // of exprs that are calls with several results: which
	unknown bool  // there are others
}

// collectValues finds what each variable and field of this package is assigned.
// A parameter of a function that is only called, and not exported, has the
// arguments for its values.
func (p *pkg) collectValues() map[*types.Var]*values {
	all := map[*types.Var]*values{}
	p.reassigned, p.served = map[*types.Var]bool{}, map[*types.Var]ast.Expr{}
	again := func(x ast.Expr) {
		if id := p.whole(x); id != nil && p.TypesInfo.Defs[id] == nil {
			p.reassigned[p.variable(id)] = true
		}
	}
	of := func(v *types.Var) *values {
		if all[v] == nil {
			all[v] = &values{}
		}
		return all[v]
	}
	assign := func(v *types.Var, from ast.Expr, result int) {
		if v != nil {
			of(v).exprs = append(of(v).exprs, from)
			of(v).results = append(of(v).results, result)
		}
	}
	assignAll := func(to []ast.Expr, from []ast.Expr) {
		for i, x := range to {
			if len(from) == len(to) {
				assign(p.variable(x), from[i], 0)
			} else if len(from) == 1 {
				assign(p.variable(x), from[0], i)
			}
		}
	}
	valued := map[*types.Func]bool{} // functions that are used as values
	abstract := map[string]bool{}    // methods that are called by interfaces
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				assignAll(n.Lhs, n.Rhs)
				for _, x := range n.Lhs {
					again(x)
				}
			case *ast.IncDecStmt:
				again(n.X)
			case *ast.ValueSpec:
				var to []ast.Expr
				for _, id := range n.Names {
					to = append(to, id)
				}
				assignAll(to, n.Values)
			case *ast.RangeStmt:
				for _, x := range []ast.Expr{n.Key, n.Value} {
					if v := p.variable(x); v != nil {
						of(v).unknown = true
						again(x)
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					again(n.X)
					if v := p.variable(n.X); v != nil {
						of(v).unknown = true
					}
				}
			case *ast.SliceExpr:
				if _, ok := p.TypesInfo.TypeOf(n.X).Underlying().(*types.Array); ok {
					again(n.X)
				}
			case *ast.SelectorExpr:
				if p.addresses(n) {
					again(n.X)
				}
			case *ast.CompositeLit:
				p.literalFields(n, assign)
			case *ast.CallExpr:
				p.noteServed(n)
				p.arguments(n, func(v *types.Var, arg ast.Expr) {
					assign(origin(v), arg, 0)
				})
			case *ast.Ident:
				if fn, ok := p.TypesInfo.Uses[n].(*types.Func); ok {
					if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
						abstract[fn.Name()] = true
					}
					if !p.isCalled(n) {
						valued[fn.Origin()] = true
					}
				}
			}
			return true
		})
	}
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				fn, ok := p.TypesInfo.Defs[n.Name].(*types.Func)
				if ok && (fn.Exported() || valued[fn] || n.Recv != nil && abstract[fn.Name()]) {
					for v := range fn.Signature().Params().Variables() {
						of(v).unknown = true
					}
				}
			case *ast.FuncLit:
				if sig, ok := p.TypesInfo.TypeOf(n).(*types.Signature); ok && !p.isCalled(n) {
					for v := range sig.Params().Variables() {
						of(v).unknown = true
					}
				}
			}
			return true
		})
	}
	for v := range all {
		global := v.IsField() || v.Parent() == p.Pkg.Scope()
		if v.Pkg() != p.Pkg || global && v.Exported() && p.Pkg.Name() != "main" {
			all[v].unknown = true
		}
	}
	return all
}

// whole returns the variable that x is, or is a part of: a field of a struct, an
// element of an array. It is nil if a pointer lies between.
func (p *pkg) whole(x ast.Expr) *ast.Ident {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		if _, ok := p.TypesInfo.TypeOf(x.X).Underlying().(*types.Struct); ok {
			return p.whole(x.X)
		}
	case *ast.IndexExpr:
		if _, ok := p.TypesInfo.TypeOf(x.X).Underlying().(*types.Array); ok {
			return p.whole(x.X)
		}
	}
	return nil
}

// addresses reports whether a method takes the address of the variable that it
// is called of, and may change it.
func (p *pkg) addresses(x *ast.SelectorExpr) bool {
	s := p.TypesInfo.Selections[x]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	if _, ok := s.Recv().Underlying().(*types.Pointer); ok {
		return false
	}
	_, ok := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	return ok
}

// isCalled reports whether x is what a call calls, and not a value.
func (p *pkg) isCalled(x ast.Expr) bool {
	up := p.parents[x]
	if sel, ok := up.(*ast.SelectorExpr); ok && sel.Sel == x {
		x, up = sel, p.parents[sel]
	}
	for {
		paren, ok := up.(*ast.ParenExpr)
		if !ok {
			break
		}
		x, up = paren, p.parents[paren]
	}
	call, ok := up.(*ast.CallExpr)
	return ok && call.Fun == x
}

// noteServed notes the connection that netco.Serve gives to a literal, with the
// listener that accepts it.
func (p *pkg) noteServed(c *ast.CallExpr) {
	fn := p.static(c.Fun)
	if fn == nil || len(c.Args) != 2 || funcKey(fn) != "./Serve" {
		return
	}
	_, ok := ast.Unparen(c.Args[1]).(*ast.FuncLit)
	if sig, _ := p.TypesInfo.TypeOf(c.Args[1]).(*types.Signature); ok && sig != nil &&
		sig.Params().Len() == 1 {
		p.served[sig.Params().At(0)] = c.Args[0]
	}
}

// literalFields calls assign for the fields of a composite literal.
func (p *pkg) literalFields(
	lit *ast.CompositeLit, assign func(v *types.Var, from ast.Expr, result int),
) {
	of := p.TypesInfo.TypeOf(lit).Underlying()
	if ptr, ok := of.(*types.Pointer); ok { // an element without its type
		of = ptr.Elem().Underlying()
	}
	t, ok := of.(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			assign(p.variable(kv.Key), kv.Value, 0)
		} else if i < t.NumFields() {
			assign(origin(t.Field(i)), e, 0)
		}
	}
}

// arguments calls f for each argument of a static call of a function of this
// package, with its parameter.
func (p *pkg) arguments(c *ast.CallExpr, f func(v *types.Var, arg ast.Expr)) {
	var sig *types.Signature
	if lit, ok := ast.Unparen(c.Fun).(*ast.FuncLit); ok {
		sig, _ = p.TypesInfo.TypeOf(lit).(*types.Signature)
	} else if fn := p.static(c.Fun); fn != nil && fn.Pkg() == p.Pkg {
		sig = fn.Origin().Signature()
	}
	if sig == nil {
		return
	}
	for i, arg := range c.Args {
		if i < sig.Params().Len() {
			f(sig.Params().At(i), arg)
		}
	}
}

// variable returns the variable or field that x is, or nil.
func (p *pkg) variable(x ast.Expr) *types.Var {
	switch x := x.(type) {
	case *ast.Ident:
		v, _ := p.TypesInfo.ObjectOf(x).(*types.Var)
		return origin(v)
	case *ast.SelectorExpr:
		v, _ := p.TypesInfo.Uses[x.Sel].(*types.Var)
		return origin(v)
	case *ast.ParenExpr:
		return p.variable(x.X)
	}
	return nil
}

func origin(v *types.Var) *types.Var {
	if v == nil {
		return nil
	}
	return v.Origin()
}

// static returns the function that x is, also of an interface, or nil.
func (p *pkg) static(x ast.Expr) *types.Func {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		fn, _ := p.TypesInfo.Uses[x].(*types.Func)
		return fn
	case *ast.SelectorExpr:
		fn, _ := p.TypesInfo.Uses[x.Sel].(*types.Func)
		return fn
	case *ast.IndexExpr:
		return p.static(x.X)
	case *ast.IndexListExpr:
		return p.static(x.X)
	}
	return nil
}

// called returns the function that x calls, or nil.
func (p *pkg) called(x ast.Expr) *types.Func {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return nil
	}
	return p.static(c.Fun)
}

// source returns the call that x's value comes from, on all ways, if is is true
// of it and the function that it calls, nil for a builtin or a function's value.
// What a listener has accepted comes from where that does.
func (p *pkg) source(x ast.Expr, is func(*ast.CallExpr, *types.Func) bool) *ast.CallExpr {
	return p.sourceOf(x, is, map[*types.Var]bool{})
}

func (p *pkg) sourceOf(
	x ast.Expr, is func(*ast.CallExpr, *types.Func) bool, seen map[*types.Var]bool,
) *ast.CallExpr {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		fn := p.static(x.Fun)
		if is(x, fn) {
			return x
		}
		if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && fn != nil &&
			funcKey(fn) == "net.Listener.Accept" {
			return p.sourceOf(sel.X, is, seen)
		}
	case *ast.TypeAssertExpr:
		return p.sourceOf(x.X, is, seen)
	case *ast.Ident, *ast.SelectorExpr:
		v := p.variable(x)
		vals := p.values[v]
		if v == nil || seen[v] {
			return nil
		}
		seen[v] = true
		if ln := p.served[v]; ln != nil {
			return p.sourceOf(ln, is, seen)
		}
		if vals == nil || vals.unknown {
			return nil
		}
		var from *ast.CallExpr
		for i, e := range vals.exprs {
			if other := p.variable(e); p.TypesInfo.Types[e].IsNil() || other != nil && seen[other] {
				continue
			}
			if vals.results[i] > 0 && !p.isPipe(e) {
				return nil
			}
			if from = p.sourceOf(e, is, seen); from == nil {
				return nil
			}
		}
		return from
	}
	return nil
}

// isStandard is for the functions of package net and crypto/tls that make
// connections and listeners.
func isStandard(_ *ast.CallExpr, fn *types.Func) bool {
	if fn == nil {
		return false
	}
	switch funcKey(fn) {
	case "net.Listen", "net.ListenPacket", "net.Dial", "net.DialTimeout", "net.Pipe",
		"net.Dialer.Dial",
		"net.Dialer.DialContext", "net.ListenConfig.Listen", "net.ListenConfig.ListenPacket",
		"crypto/tls.Listen", "crypto/tls.Dial", "crypto/tls.DialWithDialer":
		return true
	}
	return false
}

// isNetco is for netco's.
func isNetco(_ *ast.CallExpr, fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	folder, ok := library(fn.Pkg().Path())
	return ok && slices.Contains([]string{".", "net", "socket"}, folder) &&
		hasPrefix(fn.Name(), "Listen", "Dial", "Accept")
}

func (p *pkg) isPipe(e ast.Expr) bool {
	fn := p.called(e)
	return fn != nil && funcKey(fn) == "net.Pipe"
}
