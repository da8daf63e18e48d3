package stdhttp

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// finish makes the edits of a file after which it compiles: what was left out
// and what is unused goes. Lines keep their numbers. The edits in what stays
// have it start coroutines.
func (f *file) finish(unused []token.Pos) {
	for _, decl := range f.tree.Decls {
		if slices.Contains(f.decls, decl) {
			f.startCoroutines(decl)
			continue
		}
		text := f.text[int(decl.Pos())-f.base : int(decl.End())-f.base]
		f.replace(decl.Pos(), decl.End(), strings.Repeat("\n", strings.Count(text, "\n")))
	}
	for _, spec := range f.tree.Imports {
		if slices.Contains(unused, spec.Pos()) {
			f.replace(spec.Pos(), spec.Path.Pos(), "_ ")
		}
	}
}

// startCoroutines makes a call of netcorun.Start of each go statement, with its
// function and arguments, and has netcorun.Body run the body of each function that
// could be a test or a subtest.
func (f *file) startCoroutines(decl ast.Decl) {
	if !f.isTest() {
		return
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			f.replace(n.Pos(), n.Call.Fun.Pos(), "netcorun.Start(")
			f.replace(n.Call.Lparen, n.Call.Lparen+1, ", ")
		case *ast.FuncDecl:
			f.wrap(n.Type, n.Body)
		case *ast.FuncLit:
			f.wrap(n.Type, n.Body)
		}
		return true
	})
}

func (f *file) wrap(typ *ast.FuncType, body *ast.BlockStmt) {
	if typ.Results != nil || len(typ.Params.List) == 0 || len(typ.Params.List[0].Names) != 1 {
		return
	}
	param := typ.Params.List[0]
	star, ok := param.Type.(*ast.StarExpr)
	if !ok || param.Names[0].Name != "t" {
		return
	}
	if sel, ok := star.X.(*ast.SelectorExpr); !ok || sel.Sel.Name != "T" {
		return
	}
	f.replace(body.Lbrace+1, body.Lbrace+1, " netcorun.Body(func() {")
	f.replace(body.Rbrace, body.Rbrace, "}) ")
}

// editor collects edits of a text.
type editor struct {
	base  int // position of the text's beginning
	edits []edit
}

// edit replaces text[from:to].
type edit struct {
	from, to int
	text     string
}

func (e *editor) replace(from, to token.Pos, text string) {
	e.edits = append(e.edits, edit{int(from) - e.base, int(to) - e.base, text})
}

// apply returns the text with the edits made, which do not overlap.
func (e *editor) apply(text string) string {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, ed := range e.edits {
		out.WriteString(text[at:ed.from])
		out.WriteString(ed.text)
		at = ed.to
	}
	out.WriteString(text[at:])
	return out.String()
}
