package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Plan is what a port of a package to netco changes.
type Plan struct {
	Imports    []analysis.TextEdit // of package net, where netco/net can stand
	Leaks      []token.Pos         // and where not: another module has the types
	Unwritten  []token.Pos         // files of which a tool such as cgo makes what is compiled
	Statements []Statement         // the go statements outside of tests
}

// Statement is a go statement.
type Statement struct {
	Pos    token.Pos
	Edits  []analysis.TextEdit // none if it stays
	Panics bool                // a coroutine that is refused panics
}

// Planner makes a Plan.
var Planner = &analysis.Analyzer{
	Name:       "netcoport",
	Doc:        "plan a port to netco",
	Requires:   []*analysis.Analyzer{find},
	ResultType: reflect.TypeFor[*Plan](),
	Run: func(pass *analysis.Pass) (any, error) {
		if p := pass.ResultOf[find].(*result).pkg; p != nil {
			return p.plan(), nil
		}
		return &Plan{}, nil
	},
}

func (p *pkg) plan() *Plan {
	plan := &Plan{}
	leaky := p.leaky()
	for _, f := range p.Files {
		if p.Fset.Position(f.Package).Filename != p.Fset.File(f.FileStart).Name() {
			plan.Unwritten = append(plan.Unwritten, f.Package)
			continue
		}
		for _, spec := range f.Imports {
			switch {
			case spec.Path.Value != `"net"`:
			case leaky[f]:
				plan.Leaks = append(plan.Leaks, spec.Pos())
			default:
				to := strconv.Quote(module + "/net")
				plan.Imports = append(plan.Imports, replace(spec.Path.Pos(), spec.Path.End(), to))
			}
		}
		if strings.HasSuffix(p.Fset.File(f.FileStart).Name(), "_test.go") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.GoStmt); ok {
				plan.Statements = append(plan.Statements, p.port(x))
			}
			return true
		})
	}
	return plan
}

// leaky returns the files that hand a type of package net to another module, or
// get one from there, for which netco/net has one of its own.
func (p *pkg) leaky() map[*ast.File]bool {
	files := map[*ast.File]bool{}
	for id, obj := range p.TypesInfo.Uses {
		if obj.Pkg() == nil || obj.Pkg() == p.Pkg {
			continue
		}
		if other := obj.Pkg().Path(); other == "net" || p.ours(other, cause{}) {
			continue
		}
		if _, isType := obj.(*types.TypeName); isType {
			continue
		}
		if mentions(obj.Type(), func(t types.Type) bool { return differs(t, "net") }) {
			files[p.file(id.Pos())] = true
		}
	}
	return files
}

// port makes a call of netco.Go of a go statement that serves a connection or a
// listener, as far as that is known: it mentions a connection, or what it calls
// accepts, reads or writes.
func (p *pkg) port(x *ast.GoStmt) Statement {
	s := Statement{Pos: x.Pos()}
	conn := p.connIn(x.Call, func(*ast.Ident) bool { return true })
	if conn == nil && !p.serves(x.Call) {
		return s
	}
	name, edits, ok := p.importName(x.Pos(), ".")
	if !ok {
		return s
	}
	s.Panics = true
	c := x.Call
	const failed = "; err != nil {\npanic(err)\n}"
	_, isLit := ast.Unparen(c.Fun).(*ast.FuncLit)
	switch {
	case p.stableCall(c):
		closes := failed
		if id, ok := conn.(*ast.Ident); ok && !isLit && p.accepted(id) && !p.releases(c) {
			closes, s.Panics = "; err != nil {\n"+id.Name+".Close()\n}", false
		}
		edits = append(edits, startEdits(x, name, closes)...)
	default:
		more, ok := p.evaluated(x, name, failed)
		if !ok {
			return Statement{Pos: x.Pos()}
		}
		edits = append(edits, more...)
	}
	s.Edits = edits
	return s
}

// accepted reports whether a variable has what an Accept returned. Closing such
// a connection is all that there is to do if it is not served; of others its
// users may wait for what a coroutine does.
func (p *pkg) accepted(id *ast.Ident) bool {
	vals := p.values[p.variable(id)]
	return vals != nil && slices.ContainsFunc(vals.exprs, func(x ast.Expr) bool {
		c, ok := x.(*ast.CallExpr)
		if !ok {
			return false
		}
		fn := p.static(c.Fun)
		return fn != nil && strings.HasPrefix(fn.Name(), "Accept")
	})
}

// evaluated makes a call of netco.Go of a go statement whose function and
// arguments are to be evaluated where it stands, as the language has it.
func (p *pkg) evaluated(x *ast.GoStmt, name, failed string) (edits []analysis.TextEdit, ok bool) {
	c := x.Call
	if p.TypesInfo.Types[c.Fun].IsBuiltin() {
		return nil, false
	}
	called, names, args := "netcoFunc", []string{"netcoFunc"}, []string(nil)
	from, end := c.Fun.Pos(), c.Fun.End()
	if p.inferred(c.Fun) {
		called, names, from = types.ExprString(c.Fun), nil, token.NoPos
	}
	kept := false // the argument before
	for i, arg := range c.Args {
		tv := p.TypesInfo.Types[arg]
		if _, several := tv.Type.(*types.Tuple); several {
			return nil, false
		}
		if tv.IsNil() || tv.Value != nil {
			args, kept = append(args, types.ExprString(arg)), false // of no type, or another one
			continue
		}
		arg0 := fmt.Sprintf("netcoArg%d", i)
		names, args = append(names, arg0), append(args, arg0)
		switch {
		case !from.IsValid():
			from = arg.Pos()
		case !kept:
			edits = append(edits, replace(end, arg.Pos(), ", "))
		}
		end, kept = arg.End(), true
	}
	if c.Ellipsis.IsValid() {
		args[len(args)-1] += "..."
	}
	edits = append(edits,
		replace(x.Pos(), from, "{\n"+strings.Join(names, ", ")+" := "),
		replace(end, c.End(), "\nif _, err := "+name+".Go(func() { "+called+"("+
			strings.Join(args, ", ")+") })"+failed+"\n}"))
	return edits, !slices.ContainsFunc(edits, p.hasComment)
}

// inferred reports whether x is a generic function whose type arguments its call
// gives, so that it is no value of its own.
func (p *pkg) inferred(x ast.Expr) bool {
	fn := p.static(x)
	if fn == nil || fn.Signature().TypeParams().Len() == 0 {
		return false
	}
	if sel, ok := ast.Unparen(x).(*ast.SelectorExpr); ok {
		x = sel.Sel
	}
	_, ok := ast.Unparen(x).(*ast.Ident)
	return ok
}

// hasComment reports whether an edit would drop a comment.
func (p *pkg) hasComment(e analysis.TextEdit) bool {
	return slices.ContainsFunc(p.file(e.Pos).Comments, func(g *ast.CommentGroup) bool {
		return e.Pos <= g.Pos() && g.Pos() < e.End
	})
}

// serves reports whether what a go statement calls waits for a connection or a
// listener.
func (p *pkg) serves(c *ast.CallExpr) bool {
	to, fn, _ := p.function(c.Fun)
	if to != nil {
		return to.waits != "" || p.nets(to)
	}
	return fn != nil && p.summaryOf(fn).Waits != ""
}

// nets reports whether n, or what it calls, uses package net's connections.
func (p *pkg) nets(n *node) bool {
	for _, c := range n.causes {
		if c.Rule == "net" {
			return true
		}
	}
	return false
}

// connIn returns a variable of a connection's type that x mentions, and of which
// is is true, or nil.
func (p *pkg) connIn(x *ast.CallExpr, is func(*ast.Ident) bool) (conn ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || conn != nil {
			return conn == nil
		}
		v, ok := p.TypesInfo.Uses[id].(*types.Var)
		if ok && !v.IsField() && v.Pos() < x.Pos() && isConn(v.Type()) && is(id) {
			conn = id
		}
		return true
	})
	return conn
}
