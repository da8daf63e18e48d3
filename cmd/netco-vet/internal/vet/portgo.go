package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Statement is a go statement.
type Statement struct {
	Pos   token.Pos
	Edits []analysis.TextEdit // that make a coroutine of it
	Why   string              // it stays, or ""
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// port makes a call of netco.Go of a go statement that serves a connection or a
// listener, as far as that is known: it mentions a connection or what is made
// of one, or what it calls accepts, reads or writes.
//
// A connection that has just been accepted is closed if no coroutine starts.
// Anything else is done by a goroutine then, as it was before: others may wait
// for what it does.
func (p *pkg) port(x *ast.GoStmt) Statement {
	c := x.Call
	conn := p.connIn(c, func(*ast.Ident) bool { return true })
	if conn == nil && !p.serves(c) && !p.wrapped(c) {
		return Statement{x.Pos(), nil, "it serves no connection for certain"}
	}
	g, why := p.goCall(x)
	if why != "" {
		return Statement{x.Pos(), nil, why}
	}
	_, isLit := ast.Unparen(c.Fun).(*ast.FuncLit)
	if id, ok := conn.(*ast.Ident); ok && !isLit && len(g.before) == 0 && p.accepted(id) &&
		!p.releases(c) {
		return Statement{x.Pos(), g.edits(g.start(g.function(), id.Name+".Close()")), ""}
	}
	return Statement{x.Pos(), g.edits(g.startOrGo()), ""}
}

// goFix makes a call of netco.Go of a go statement that serves a connection, if
// what it evaluates is the same later.
func (p *pkg) goFix(x *ast.GoStmt, conn *ast.Ident) fixer {
	return func() ([]analysis.SuggestedFix, string) {
		c := x.Call
		_, isLit := ast.Unparen(c.Fun).(*ast.FuncLit)
		if !isLit && !p.stable(c.Fun) ||
			slices.ContainsFunc(c.Args, func(x ast.Expr) bool { return !p.stable(x) }) {
			return nil, "what it evaluates where it stands may be another thing later"
		}
		g, why := p.goCall(x)
		switch {
		case why != "":
			return nil, why
		case !p.accepted(conn):
			return nil, "what is to happen if " + conn.Name + " is refused is yours to write"
		case p.releases(c):
			return nil, "what it calls gives more back at its end than " + conn.Name
		}
		return one("Use netco.Go", g.edits(g.start(g.function(), conn.Name+".Close()")))
	}
}

// goCall is a go statement that becomes a call of netco.Go.
type goCall struct {
	*pkg
	x       *ast.GoStmt
	netco   string
	imports []analysis.TextEdit // of netco, if the file has not
	src     []byte
	base    token.Pos
	before  []string // statements before: what is to be evaluated now
	call    string   // the source of the call, with what they evaluate
}

// goCall prepares a go statement: it evaluates the function and the arguments
// that might be others later. It returns why it cannot.
func (p *pkg) goCall(x *ast.GoStmt) (g *goCall, why string) {
	netco, edits, ok := p.importName(x.Pos(), ".")
	if !ok {
		return nil, nameTaken
	}
	g = &goCall{pkg: p, x: x, netco: netco, imports: edits}
	return g, g.prepare()
}

func (g *goCall) prepare() (why string) {
	f, c := g.file(g.x.Pos()), g.x.Call
	src, err := g.ReadFile(g.Fset.File(f.FileStart).Name())
	if err != nil {
		return err.Error()
	}
	g.src, g.base = src, f.FileStart
	if g.TypesInfo.Types[c.Fun].IsBuiltin() {
		return "it calls a builtin function"
	}
	var edits []analysis.TextEdit
	keep := func(x ast.Expr, param string) {
		name := g.freeName(g.x, cmp.Or(strings.Trim(param, "_"), "arg"))
		g.before = append(g.before, name+" := "+g.text(x.Pos(), x.End()))
		edits = append(edits, replace(x.Pos(), x.End(), name))
	}
	if lit, ok := ast.Unparen(c.Fun).(*ast.FuncLit); ok && !g.simple() {
		name := g.freeName(g.x, "serve")
		g.before = append(g.before, name+" := "+g.text(lit.Pos(), lit.End()))
		edits = append(edits, replace(c.Fun.Pos(), c.Fun.End(), name))
	} else if !ok && !g.lasting(c.Fun) {
		keep(c.Fun, "")
	}
	sig, _ := g.TypesInfo.TypeOf(c.Fun).Underlying().(*types.Signature)
	for i, arg := range c.Args {
		if _, several := g.TypesInfo.TypeOf(arg).(*types.Tuple); several {
			return "its arguments are the results of another call"
		}
		if g.lasting(arg) {
			continue
		}
		param := ""
		if sig != nil && i < sig.Params().Len() {
			param = sig.Params().At(i).Name()
		}
		keep(arg, param)
	}
	at := c.Pos()
	for _, e := range edits {
		g.call += g.text(at, e.Pos) + string(e.NewText)
		at = e.End
	}
	g.call += g.text(at, c.End())
	return ""
}

// lasting reports whether x has the same value later: if it is stable, or the
// address of a variable.
func (g *goCall) lasting(x ast.Expr) bool {
	if u, ok := ast.Unparen(x).(*ast.UnaryExpr); ok && u.Op == token.AND {
		id, ok := ast.Unparen(u.X).(*ast.Ident)
		return ok && g.variable(id) != nil
	}
	return g.stable(x)
}

func (g *goCall) text(from, to token.Pos) string { return string(g.src[from-g.base : to-g.base]) }

// simple reports whether what is called is a function literal without arguments
// and results, as netco.Go takes it.
func (g *goCall) simple() bool {
	c := g.x.Call
	lit, ok := ast.Unparen(c.Fun).(*ast.FuncLit)
	return ok && len(c.Args) == 0 && lit.Type.Results == nil
}

// function is the source of a function without arguments and results that does
// what the call does.
func (g *goCall) function() string {
	c := g.x.Call
	if g.simple() {
		return g.text(c.Fun.Pos(), c.Fun.End())
	}
	if fn, ok := g.TypesInfo.TypeOf(c.Fun).(*types.Signature); ok && len(c.Args) == 0 &&
		fn.Results().Len() == 0 && g.static(c.Fun) != nil && strings.HasSuffix(g.call, "()") {
		return strings.TrimSuffix(g.call, "()")
	}
	return "func() { " + g.call + " }"
}

// edits replace the statement by a text. The function literal that it calls
// stays where it is, as it may have go statements of its own.
func (g *goCall) edits(text string) []analysis.TextEdit {
	if lit, ok := ast.Unparen(g.x.Call.Fun).(*ast.FuncLit); ok {
		before, after, _ := strings.Cut(text, g.text(lit.Pos(), lit.End()))
		return append(g.imports, replace(g.x.Pos(), lit.Pos(), before),
			replace(lit.End(), g.x.End(), after))
	}
	return append(g.imports, replace(g.x.Pos(), g.x.End(), text))
}

// start is the source of a call of netco.Go, and of what is done if that fails.
func (g *goCall) start(f, failed string) string {
	return g.enclose("if _, err := " + g.netco + ".Go(" + f + "); err != nil {\n" + failed + "\n}")
}

// startOrGo starts a coroutine, or a goroutine if that fails. What is long, has
// a comment, or means another err stands only once.
func (g *goCall) startOrGo() string {
	if !g.simple() && !strings.Contains(g.call, "\n") && len(g.call) <= 60 &&
		!slices.ContainsFunc(g.file(g.x.Pos()).Comments, func(c *ast.CommentGroup) bool {
			return g.x.Call.Pos() <= c.Pos() && c.End() <= g.x.Call.End() && !g.inLiteral(c.Pos())
		}) && !g.mentionsErr() {
		return g.start(g.function(), "go "+g.call)
	}
	name := g.freeName(g.x, "serve")
	g.before = append(g.before, name+" := "+g.function())
	return g.start(name, "go "+name+"()")
}

// inLiteral reports whether pos is in the function literal that is called, which
// stands once anyway.
func (g *goCall) inLiteral(pos token.Pos) bool {
	lit, ok := ast.Unparen(g.x.Call.Fun).(*ast.FuncLit)
	return ok && lit.Pos() <= pos && pos < lit.End()
}

// mentionsErr reports whether the call mentions an err, but for the literal that
// is called.
func (g *goCall) mentionsErr() (found bool) {
	ast.Inspect(g.x.Call, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == "err" && !g.inLiteral(id.Pos())
		return !found
	})
	return found
}

// enclose adds what stands before, and a block around both where one statement
// only may stand.
func (g *goCall) enclose(text string) string {
	if len(g.before) == 0 {
		return text
	}
	text = strings.Join(g.before, "\n") + "\n" + text
	switch g.parents[g.x].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return text
	}
	return "{\n" + text + "\n}"
}

// refused returns the if statement whose body x stands in, and whose coroutine
// has been refused then, or nil.
func (p *pkg) refused(x ast.Node) *ast.IfStmt {
	for n, up := x, p.parents[x]; up != nil; n, up = up, p.parents[up] {
		switch up := up.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return nil
		case *ast.IfStmt:
			init, ok := up.Init.(*ast.AssignStmt)
			if !ok || n != up.Body || len(init.Rhs) != 1 {
				continue
			}
			if fn := p.called(init.Rhs[0]); fn != nil && refusing[funcKey(fn)] {
				return up
			}
		}
	}
	return nil
}

// accepted reports whether a variable has what an Accept returned. Closing such
// a connection is all that there is to do if it is not served; of others its
// users may wait for what a coroutine does.
func (p *pkg) accepted(id *ast.Ident) bool {
	vals := p.values[p.variable(id)]
	return vals != nil && slices.ContainsFunc(vals.exprs, func(x ast.Expr) bool {
		fn := p.called(x)
		return fn != nil && strings.HasPrefix(fn.Name(), "Accept")
	})
}

// serves reports whether what a go statement calls waits for a connection or a
// listener.
func (p *pkg) serves(c *ast.CallExpr) bool {
	of := p.callee(c.Fun)
	if of.to != nil {
		return of.to.waits != "" || p.nets(of.to)
	}
	return of.fn != nil && p.summaryOf(of.fn).Waits != ""
}

// nets reports whether n, or what it calls, uses package net's connections.
func (p *pkg) nets(n *node) bool {
	return slices.ContainsFunc(n.causes, func(c cause) bool { return c.Rule == "net" })
}

// connIn returns a variable of a connection's type that x mentions, and of which
// is is true, or nil.
func (p *pkg) connIn(x *ast.CallExpr, is func(*ast.Ident) bool) (conn ast.Expr) {
	return p.mentioned(x, x.Pos(), func(id *ast.Ident, v *types.Var) bool {
		return isConn(v.Type()) && is(id)
	})
}

// mentioned returns a variable from before pos that x mentions, and of which is
// is true, or nil.
func (p *pkg) mentioned(
	x ast.Node, pos token.Pos, is func(*ast.Ident, *types.Var) bool,
) (found ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || found != nil {
			return found == nil
		}
		v, ok := p.TypesInfo.Uses[id].(*types.Var)
		if ok && !v.IsField() && v.Pos() < pos && is(id, v) {
			found = id
		}
		return true
	})
	return found
}

// wrapped reports whether a go statement's call mentions a struct with a
// connection that is made of one here.
func (p *pkg) wrapped(c *ast.CallExpr) bool {
	return p.mentioned(c, c.Pos(), func(_ *ast.Ident, v *types.Var) bool {
		return p.wraps(v, map[*types.Var]bool{})
	}) != nil
}

// wraps reports whether v is a struct with a connection, and is assigned what is
// made of one in this package.
func (p *pkg) wraps(v *types.Var, seen map[*types.Var]bool) bool {
	vals := p.values[origin(v)]
	if vals == nil || seen[v] || !hasConn(v.Type()) {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(vals.exprs, func(x ast.Expr) bool {
		return p.mentioned(x, x.End(), func(_ *ast.Ident, of *types.Var) bool {
			return isConn(of.Type()) || p.wraps(of, seen)
		}) != nil
	})
}

// hasConn reports whether t is a struct, or points to one, with a field for a
// connection.
func hasConn(t types.Type) bool {
	n := named(t)
	if n == nil {
		return false
	}
	st, ok := n.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range st.Fields() {
		if isConn(f.Type()) {
			return true
		}
	}
	return false
}

// freeName returns name, or name with a number, as it is not taken in the
// declaration that x is in.
func (p *pkg) freeName(x ast.Node, name string) string {
	decl := p.declOf(x)
	taken := p.taken[decl]
	if taken == nil {
		taken = map[string]bool{"netco": true, "err": true} // what a port adds
		p.taken[decl] = taken
		ast.Inspect(decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				taken[id.Name] = true
			}
			return true
		})
	}
	first := name
	for i := 2; taken[name]; i++ {
		name = first + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}
