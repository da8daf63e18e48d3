package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

const (
	netcoModule = "github.com/netco-go/netco"
	netPackage  = netcoModule + "/net"
)

// change says what rewrite does to a file.
type change struct {
	statements bool // go statements become calls of netco.Go
	imports    bool // the import of package net becomes that of netco/net
}

// rewrite returns src with the change made, which may be none. It edits the
// text at the places that the parser found, so comments and, nearly always,
// line numbers stay.
func rewrite(name, src string, c change) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	e := editor{base: fset.File(file.FileStart).Base()}
	if c.imports {
		for _, spec := range file.Imports {
			if spec.Path.Value == `"net"` {
				e.replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(netPackage))
			}
		}
	}
	if c.statements {
		found := 0
		ast.Inspect(file, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.GoStmt); ok {
				found++
				e.goStatement(stmt)
			}
			return true
		})
		if found > 0 {
			e.replace(file.Name.End(), file.Name.End(), fmt.Sprintf("; import %q", netcoModule))
		}
	}
	return e.apply(src), nil
}

// started ends the statement that rewrite makes of a go statement. A go
// statement cannot fail, so what it became must not either.
const started = "; err != nil { panic(err) }"

// goStatement makes a call of netco.Go of a go statement. Function and arguments
// are evaluated where the statement stands, as the language has it; only
// literals, which have no other value later, stay arguments of the call: as a
// variable they would get a type of their own. A builtin function has no value,
// so that a call of one does not compile.
func (e *editor) goStatement(stmt *ast.GoStmt) {
	call := stmt.Call
	if lit, ok := call.Fun.(*ast.FuncLit); ok && len(call.Args) == 0 && lit.Type.Results == nil {
		e.replace(stmt.Pos(), call.Fun.Pos(), "if _, err := netco.Go(")
		e.replace(call.Fun.End(), call.End(), ")"+started)
		return
	}
	names := []string{"netcoFunc"}
	var args []string
	end := call.Fun.End()
	for i, arg := range call.Args {
		if text, ok := literal(arg); ok {
			args = append(args, text)
			continue
		}
		name := fmt.Sprintf("netcoArg%d", i)
		names, args = append(names, name), append(args, name)
		e.replace(end, arg.Pos(), ", ")
		end = arg.End()
	}
	if call.Ellipsis.IsValid() {
		args[len(args)-1] += "..."
	}
	e.replace(stmt.Pos(), call.Fun.Pos(), "{ "+strings.Join(names, ", ")+" := ")
	e.replace(end, call.End(),
		"; if _, err := netco.Go(func() { netcoFunc("+strings.Join(args, ", ")+") })"+started+" }")
}

// literal returns an argument's text if it is one of nil, true, false, a number
// or a string.
func literal(arg ast.Expr) (string, bool) {
	switch arg := arg.(type) {
	case *ast.BasicLit:
		return arg.Value, true
	case *ast.Ident:
		return arg.Name, arg.Name == "nil" || arg.Name == "true" || arg.Name == "false"
	}
	return "", false
}

// editor collects edits of one file.
type editor struct {
	base  int
	edits []edit
}

// edit replaces src[from:to].
type edit struct {
	from, to int
	text     string
}

func (e *editor) replace(from, to token.Pos, text string) {
	e.edits = append(e.edits, edit{int(from) - e.base, int(to) - e.base, text})
}

// apply returns src with the edits made, which do not overlap.
func (e *editor) apply(src string) string {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, ed := range e.edits {
		out.WriteString(src[at:ed.from])
		out.WriteString(ed.text)
		at = ed.to
	}
	out.WriteString(src[at:])
	return out.String()
}
