package vet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// one returns a fix, or none without edits.
func one(message string, edits []analysis.TextEdit) ([]analysis.SuggestedFix, string) {
	if len(edits) == 0 {
		return nil, "nothing would change"
	}
	return []analysis.SuggestedFix{{Message: message, TextEdits: edits}}, ""
}

// no is a fixer of what has no fix.
func no(why string) fixer {
	return func() ([]analysis.SuggestedFix, string) { return nil, why }
}

// suggest gives a diagnostic its fix, or the reason why it has none.
func (f fixer) suggest(d *analysis.Diagnostic) {
	if f == nil {
		return
	}
	fixes, why := f()
	if d.SuggestedFixes = fixes; why != "" {
		d.Related = append(d.Related, analysis.RelatedInformation{
			Pos: d.Pos, End: d.End, Message: "no fix: " + why,
		})
	}
}

const nameTaken = "the name of the package to import is taken in this file"

func replace(from, to token.Pos, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: from, End: to, NewText: []byte(text)}
}

// file returns the file that pos is in.
func (p *pkg) file(pos token.Pos) *ast.File {
	for _, f := range p.Files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			return f
		}
	}
	return nil
}

// importName returns the name by which a file refers to a package of netco at
// pos, and what imports it if nothing does, under a name of its own beside
// another package of that name. ok is false if the name is taken.
func (p *pkg) importName(
	pos token.Pos, folder string,
) (name string, edits []analysis.TextEdit, ok bool) {
	full, name, alias := module, "netco", ""
	if folder != "." {
		full, name = module+"/"+folder, path.Base(folder)
	}
	f := p.file(pos)
	if f == nil {
		return "", nil, false
	}
	imported := false
	for _, spec := range f.Imports {
		if spec.Path.Value != strconv.Quote(full) {
			continue
		}
		imported = true
		if spec.Name != nil {
			name = spec.Name.Name
		}
	}
	if name == "_" || name == "." {
		return "", nil, false
	}
	inner := p.Pkg.Scope().Innermost(pos)
	if inner == nil {
		return "", nil, false
	}
	_, obj := inner.LookupParent(name, pos)
	if _, other := obj.(*types.PkgName); other && !imported {
		name = "netco" + name // package sync beside netco/sync
		alias = name
		_, obj = inner.LookupParent(name, pos)
	}
	if _, isPackage := obj.(*types.PkgName); obj != nil && !(imported && isPackage) {
		return "", nil, false
	}
	if imported {
		return name, nil, true
	}
	return name, []analysis.TextEdit{ImportEdit(f, alias, full)}, true
}

// ImportEdit adds an import to a file, at the same place each time. alias is its
// name there, or "".
func ImportEdit(f *ast.File, alias, full string) analysis.TextEdit {
	quoted := strings.TrimLeft(alias+" "+strconv.Quote(full), " ")
	end := func(spec ast.Spec) token.Pos {
		if c := spec.(*ast.ImportSpec).Comment; c != nil {
			return c.End()
		}
		return spec.End()
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			break
		}
		if g.Lparen.IsValid() && len(g.Specs) > 0 {
			at, gap := end(g.Specs[len(g.Specs)-1]), "\n\n\t" // a group of its own
			for _, spec := range g.Specs {
				of := spec.(*ast.ImportSpec).Path.Value
				if first, _, _ := strings.Cut(of, "/"); strings.Contains(first, ".") {
					at, gap = end(spec), "\n\t"
				}
			}
			return replace(at, at, gap+quoted)
		}
		return replace(g.End(), g.End(), "\nimport "+quoted)
	}
	return replace(f.Name.End(), f.Name.End(), "\n\nimport "+quoted)
}

// callFix rewrites a call of the standard library's.
func (w *walker) callFix(c *ast.CallExpr, fn *types.Func, f finding) fixer {
	switch {
	case f.rule == "net" || f.rule == "sync" || f.rule == "http":
		return w.importFix(fn.Pkg().Path())
	case f.cure == cureRate:
		return no("what waits if the context ends has to be decided")
	case f.rule == "time" && w.static(c.Fun) == nil:
		return no("it is called by a variable, which others may assign")
	case f.rule == "time":
		return func() ([]analysis.SuggestedFix, string) {
			name, edits, ok := w.importName(c.Pos(), ".")
			if !ok {
				return nil, nameTaken
			}
			return one("Use netco.Sleep",
				append(edits, replace(c.Fun.Pos(), c.Fun.End(), name+".Sleep")))
		}
	}
	return nil
}

// receiveFix rewrites a receive that is a statement: of time.After, or of a
// context's Done.
func (w *walker) receiveFix(x *ast.UnaryExpr, f finding) fixer {
	if f.rule == "chan" {
		return nil
	}
	if _, ok := w.parents[x].(*ast.ExprStmt); !ok {
		return no("the value that is received is used, or it is a case of a select")
	}
	c, ok := ast.Unparen(x.X).(*ast.CallExpr)
	if !ok {
		return no("all uses of the timer or ticker have to change with it")
	}
	folder, call := ".", "Sleep"
	if f.rule == "done" {
		folder, call = "sync", "Wait"
	} else if len(c.Args) != 1 || w.static(c.Fun).Name() != "After" {
		return no("all uses of the timer or ticker have to change with it")
	}
	return func() ([]analysis.SuggestedFix, string) {
		name, edits, ok := w.importName(x.Pos(), folder)
		if !ok {
			return nil, nameTaken
		}
		if f.rule == "done" {
			sel := ast.Unparen(c.Fun).(*ast.SelectorExpr)
			edits = append(edits,
				replace(x.Pos(), sel.X.Pos(), name+"."+call+"("),
				replace(sel.X.End(), x.End(), ")"))
		} else {
			edits = append(edits, replace(x.Pos(), c.Fun.End(), name+"."+call))
		}
		return one("Use "+name+"."+call, edits)
	}
}

// changed are the types of a standard package that netco's package of the same
// name has its own of.
var changed = map[string][]string{
	"net": {
		"TCPConn", "TCPListener", "UDPConn", "UnixConn", "UnixListener",
		"Dialer", "ListenConfig", "Resolver", "Buffers",
	},
	"net/http": {"Client", "Server", "Transport"},

	"sync": {"Mutex", "RWMutex", "WaitGroup", "Cond", "Once"},

	"golang.org/x/sync/errgroup": {"Group"},
}

// Ours is the path of netco's package for one of the standard library or x/sync.
func Ours(std string) string {
	if std == "net/http" {
		return module + "/net/http"
	}
	return module + "/" + path.Base(std)
}

// importFix changes the import of net, net/http, sync or errgroup to netco's, in all files
// of the package, if no value of a type that differs comes from another package or
// goes there.
func (p *pkg) importFix(std string) fixer {
	if p.imports[std] == nil {
		p.imports[std] = sync.OnceValues(func() ([]analysis.SuggestedFix, string) {
			return p.changeImport(std)
		})
	}
	return p.imports[std]
}

// unseen says which file of this package is not among those that are analysed,
// or "": a test, or one for another platform that imports std. What changes the
// whole package has to change them, too; the package with its tests is analysed
// by itself.
func (p *pkg) unseen(std string) string {
	seen := map[string]bool{}
	for _, f := range p.Files {
		seen[p.Fset.Position(f.Package).Filename] = true
	}
	for name := range seen {
		tests, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*_test.go"))
		for _, test := range tests {
			if !seen[test] && p.isOurs(test, "") {
				return filepath.Base(test) + " has to change with it, unless -test=false"
			}
		}
	}
	for _, name := range p.IgnoredFiles {
		if strings.HasSuffix(name, ".go") && p.isOurs(name, std) {
			return filepath.Base(name) + " has to change with it, and is not compiled here"
		}
	}
	return ""
}

// isOurs reports whether a file is one of this package, and imports std.
func (p *pkg) isOurs(name, std string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	return err == nil && f.Name.Name == p.Pkg.Name() && (std == "" ||
		slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool {
			return s.Path.Value == strconv.Quote(std)
		}))
}

func (p *pkg) changeImport(std string) ([]analysis.SuggestedFix, string) {
	if why := p.unseen(std); why != "" {
		return nil, why
	}
	to := strconv.Quote(Ours(std))
	var edits []analysis.TextEdit
	for _, f := range p.Files {
		for _, spec := range f.Imports {
			switch {
			case spec.Path.Value == to && std != "sync": // netco's has more to import it for
				return nil, "the package imports " + Ours(std) + " already, beside " + std
			case spec.Path.Value != strconv.Quote(std):
			case spec.Name != nil && spec.Name.Name == ".":
				return nil, "the package imports " + std + " as ."
			default:
				edits = append(edits, p.moveImport(f, spec, Ours(std))...)
			}
		}
	}
	for _, f := range Exchanges(p.Fset, p.Files, p.TypesInfo, func(path string) bool {
		return path == p.Pkg.Path()
	}, std) {
		if f.Leak != nil {
			return nil, p.posn(f.Leak.Pos) + ": " + f.Leak.What + " takes or returns a type of " + std
		}
	}
	leaks := func(t types.Type) bool {
		return mentions(t, func(t types.Type) bool { return differs(t, std) })
	}
	if name := p.exports(leaks); name != "" {
		return nil, name + " is exported with a type of " + std + ", which other packages may use"
	}
	return one("Import "+Ours(std), edits)
}

// moveImport changes an import's path, and puts it where other modules' imports
// are if it has a line of its own.
func (p *pkg) moveImport(f *ast.File, spec *ast.ImportSpec, path string) []analysis.TextEdit {
	alias, at := "", p.Fset.PositionFor(spec.Pos(), false)
	if spec.Name != nil {
		alias = spec.Name.Name
	}
	if at.Column != 2 || spec.Doc != nil || spec.Comment != nil { // it is not indented
		return []analysis.TextEdit{replace(spec.Path.Pos(), spec.Path.End(), strconv.Quote(path))}
	}
	to := ImportEdit(f, alias, path)
	if to.Pos == spec.End() {
		return []analysis.TextEdit{replace(spec.Pos(), to.Pos, string(to.NewText[1:]))}
	}
	next := p.Fset.File(f.FileStart).LineStart(at.Line + 1)
	return []analysis.TextEdit{replace(spec.Pos(), next, ""), to}
}

// differs reports whether t is, or points to, a type that netco's package has
// its own of.
func differs(t types.Type, std string) bool {
	n := named(t)
	return n != nil && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == std &&
		slices.Contains(changed[std], n.Obj().Name())
}

// exports returns what of this package other packages can see that has a type for
// which leaks is true, or "".
func (p *pkg) exports(leaks func(types.Type) bool) string {
	if p.Pkg.Name() == "main" {
		return ""
	}
	scope := p.Pkg.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		if _, isType := obj.(*types.TypeName); !isType {
			if leaks(obj.Type()) {
				return name
			}
			continue
		}
		if st, ok := obj.Type().Underlying().(*types.Struct); ok {
			for f := range st.Fields() {
				if f.Exported() && leaks(f.Type()) {
					return name + "." + f.Name()
				}
			}
		} else if leaks(obj.Type().Underlying()) {
			return name
		}
		if n, ok := types.Unalias(obj.Type()).(*types.Named); ok {
			for m := range n.Methods() {
				if m.Exported() && leaks(m.Type()) {
					return name + "." + m.Name()
				}
			}
		}
	}
	return ""
}

// mentions reports whether f is true of a type that t is written with.
func mentions(t types.Type, f func(types.Type) bool) bool {
	t = types.Unalias(t)
	if f(t) {
		return true
	}
	deeper := func(t types.Type) bool { return mentions(t, f) }
	switch t := t.(type) {
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			if deeper(a) {
				return true
			}
		}
	case *types.Pointer:
		return deeper(t.Elem())
	case *types.Slice:
		return deeper(t.Elem())
	case *types.Array:
		return deeper(t.Elem())
	case *types.Chan:
		return deeper(t.Elem())
	case *types.Map:
		return deeper(t.Key()) || deeper(t.Elem())
	case *types.Signature:
		return deeper(t.Params()) || deeper(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if deeper(v.Type()) {
				return true
			}
		}
	case *types.Struct:
		for v := range t.Fields() {
			if deeper(v.Type()) {
				return true
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if deeper(m.Type()) {
				return true
			}
		}
	}
	return false
}

// goHandler notes a go statement that hands a connection of netco's to a
// goroutine.
func (w *walker) goHandler(x *ast.GoStmt) {
	if w.refused(x) != nil {
		return
	}
	conn, ok := w.connIn(x.Call, func(id *ast.Ident) bool {
		return w.netcos(id)
	}).(*ast.Ident)
	if !ok {
		return
	}
	w.event(finding{
		"gostmt",
		"go statement for " + conn.Name +
			", which is netco's: the goroutine works, but costs what goroutines do",
		"use netco.Go",
	}, x, w.goFix(x, conn))
}

// isConn reports whether t has the methods of a connection that matter here.
func isConn(t types.Type) bool {
	for _, name := range []string{"Read", "Write", "Close", "SetDeadline"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name); obj == nil {
			return false
		}
	}
	return true
}

// releases reports whether what a go statement calls does more at its end than
// to close: then closing is not enough where it is not started.
func (p *pkg) releases(c *ast.CallExpr) (more bool) {
	to := p.callee(c.Fun).to
	if to == nil || to.foreign {
		return true
	}
	ast.Inspect(to.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			fn := p.static(n.Call.Fun)
			more = more || fn == nil || fn.Name() != "Close"
		case *ast.SelectorExpr:
			more = more || n.Sel.Name == "Done"
		}
		return true
	})
	return more
}

// stable reports whether x has the same value whenever it is evaluated: a
// function, a constant, a variable of this function's that is assigned once,
// and methods of such.
func (p *pkg) stable(x ast.Expr) bool {
	if tv := p.TypesInfo.Types[x]; tv.Value != nil || tv.IsNil() {
		return true
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		switch obj := p.TypesInfo.Uses[x].(type) {
		case *types.Func, *types.PkgName:
			return true
		case *types.Var:
			return !obj.IsField() && obj.Parent() != p.Pkg.Scope() && !p.reassigned[obj]
		}
	case *ast.SelectorExpr:
		if _, ok := p.TypesInfo.Uses[x.Sel].(*types.Func); !ok {
			return false
		}
		if t := p.TypesInfo.TypeOf(x.X); t != nil && p.TypesInfo.Types[x.X].IsValue() {
			if _, ptr := t.Underlying().(*types.Pointer); !ptr {
				return false // a copy is made of the receiver
			}
		}
		return p.stable(x.X)
	}
	return false
}
