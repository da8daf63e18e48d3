package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// httpClients separates the http.Clients whose Transport is of netco/net/http
// from others. It goes by all that this package assigns to a variable or
// field. What other packages may assign is not known, and does not count.
type httpClients struct {
	*pkg
	http  *types.Package
	known map[types.Object]bool // variables and functions; true while in progress
}

// parkingClient reports whether a call of one of net/http's clients parks.
func (p *pkg) parkingClient(c *ast.CallExpr, fn *types.Func) bool {
	h := httpClients{p, fn.Pkg(), map[types.Object]bool{}}
	if fn.Signature().Recv() == nil {
		return h.clientVar(h.lookup("DefaultClient"))
	}
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || shortName(fn) == "Transport.RoundTrip" {
		return false
	}
	if v, embedded := p.owner(sel); embedded {
		return h.clientVar(v)
	}
	return h.client(sel.X)
}

// owner returns the variable or field that has the struct whose field or method
// sel names: the last one that is embedded, if any is, or sel.X.
func (p *pkg) owner(sel *ast.SelectorExpr) (v *types.Var, embedded bool) {
	s := p.TypesInfo.Selections[sel]
	if s == nil || s.Kind() == types.MethodExpr {
		return nil, false
	}
	v, path := p.variable(sel.X), s.Index()
	t := s.Recv()
	for _, i := range path[:len(path)-1] {
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			t = ptr.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return nil, true
		}
		v, embedded = st.Field(i), true
		t = v.Type()
	}
	return origin(v), embedded
}

// lookup returns a variable of net/http.
func (h httpClients) lookup(name string) *types.Var {
	v, _ := h.http.Scope().Lookup(name).(*types.Var)
	return v
}

// client reports whether x, an http.Client or a pointer to one, parks.
func (h httpClients) client(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.UnaryExpr:
		return x.Op == token.AND && h.client(x.X)
	case *ast.StarExpr:
		return h.client(x.X)
	case *ast.CompositeLit:
		for _, e := range x.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return h.transport(x.Elts[0]) // the first field
			}
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Transport" {
				return h.transport(kv.Value)
			}
		}
		return h.defaultTransport()
	case *ast.CallExpr:
		if h.TypesInfo.Types[x.Fun].IsBuiltin() {
			return h.defaultTransport() // new
		}
		return h.returned(x, 0, h.client)
	case *ast.Ident, *ast.SelectorExpr:
		return h.clientVar(h.variable(x))
	}
	return false
}

// clientVar is client for a variable or field. Its Transport may be assigned
// apart from it.
func (h httpClients) clientVar(v *types.Var) bool {
	if v == nil {
		return false
	}
	if set := h.transportsOf(v); len(set) > 0 {
		return !slices.ContainsFunc(set, func(x ast.Expr) bool { return !h.transport(x) })
	}
	if h.values[v] == nil {
		_, pointer := v.Type().Underlying().(*types.Pointer)
		return (v == h.lookup("DefaultClient") || v.Pkg() == h.Pkg && !pointer) &&
			h.defaultTransport()
	}
	return h.all(v, h.client)
}

// transportsOf returns what the Transport of v's http.Client is assigned.
func (p *pkg) transportsOf(v *types.Var) []ast.Expr {
	if p.transports == nil {
		p.transports = map[*types.Var][]ast.Expr{}
		for _, f := range p.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				a, ok := n.(*ast.AssignStmt)
				if !ok || len(a.Lhs) != len(a.Rhs) {
					return true
				}
				for i, x := range a.Lhs {
					sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
					if ok && isTransportField(p.variable(sel)) {
						to, _ := p.owner(sel)
						p.transports[to] = append(p.transports[to], a.Rhs[i])
					}
				}
				return true
			})
		}
	}
	return p.transports[v]
}

func isTransportField(v *types.Var) bool {
	return v != nil && v.IsField() && v.Name() == "Transport" && v.Pkg() != nil &&
		v.Pkg().Path() == "net/http"
}

func (h httpClients) defaultTransport() bool {
	v := h.lookup("DefaultTransport")
	return v != nil && h.all(v, h.transport)
}

// transport reports whether x, an http.RoundTripper, parks: one of
// netco/net/http, or what is made of such a one, which wraps it.
func (h httpClients) transport(x ast.Expr) bool {
	x = ast.Unparen(x)
	if h.TypesInfo.Types[x].IsNil() {
		return h.defaultTransport()
	}
	if n := named(h.TypesInfo.TypeOf(x)); n != nil && n.Obj().Pkg() != nil {
		folder, ok := library(n.Obj().Pkg().Path())
		if ok && folder == "net/http" && n.Obj().Name() == "Transport" {
			return true
		}
	}
	switch x := x.(type) {
	case *ast.UnaryExpr:
		return x.Op == token.AND && h.transport(x.X)
	case *ast.CompositeLit:
		return slices.ContainsFunc(x.Elts, func(e ast.Expr) bool {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			return h.wrapped(e)
		})
	case *ast.CallExpr:
		return slices.ContainsFunc(x.Args, h.wrapped) || h.returned(x, 0, h.transport)
	case *ast.Ident, *ast.SelectorExpr:
		v := h.variable(x)
		return v != nil && h.all(v, h.transport)
	}
	return false
}

// wrapped is transport for what may be something else.
func (h httpClients) wrapped(x ast.Expr) bool {
	t := h.TypesInfo.TypeOf(x)
	if t == nil {
		return false
	}
	trips, _, _ := types.LookupFieldOrMethod(t, true, nil, "RoundTrip")
	return trips != nil && h.transport(x)
}

// all reports whether is holds for all that v is assigned, and that is
// something.
func (h httpClients) all(v *types.Var, is func(ast.Expr) bool) bool {
	vals := h.values[v]
	if vals == nil {
		return false
	}
	if parks, ok := h.known[v]; ok {
		return parks
	}
	h.known[v] = true
	some, all := false, true
	for i, x := range vals.exprs {
		switch c, isCall := ast.Unparen(x).(*ast.CallExpr); {
		case h.TypesInfo.Types[x].IsNil():
			continue
		case isCall && vals.results[i] > 0:
			all = all && h.returned(c, vals.results[i], is)
		default:
			all = all && vals.results[i] == 0 && is(x)
		}
		some = true
	}
	h.known[v] = some && all
	return some && all
}

// returned is all for the result of a call of one of this package's functions.
func (h httpClients) returned(c *ast.CallExpr, result int, is func(ast.Expr) bool) bool {
	fn := h.static(c.Fun)
	if fn == nil || h.decls[fn.Origin()] == nil {
		return false
	}
	fn = fn.Origin()
	if parks, ok := h.known[fn]; ok {
		return parks
	}
	h.known[fn] = true
	some, all := false, true
	for _, r := range returnsOf(h.decls[fn].body) {
		if len(r.Results) <= result { // by its name, or what another function returns
			all = false
		} else if x := r.Results[result]; !h.TypesInfo.Types[x].IsNil() {
			some, all = true, all && is(x)
		}
	}
	h.known[fn] = some && all
	return some && all
}
