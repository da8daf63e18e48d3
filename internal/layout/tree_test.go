package layout

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// tree is the source of modules, parsed. Paths are relative to the root and
// slash-separated.
type tree struct {
	module string
	below  []string // folders of modules below the root's
	fset   *token.FileSet
	files  []*goFile
	texts  map[string]string // Go, assembly and Markdown files
}

// goFile is one Go file, whatever platform it is for.
type goFile struct {
	*ast.File
	path    string
	dir     string // "." for the root package
	pkg     string
	doc     string // the comment of the package clause
	imports []string
	tags    constraint.Expr // the build constraint, or nil
	links   bool            // has a go:linkname
	funcs   []string        // names of its functions that have no receiver
	lines   map[string]int  // of each function and method, T.M
}

func (f *goFile) hasExample() bool {
	return f.isTest() && slices.ContainsFunc(f.funcs, func(name string) bool {
		return strings.HasPrefix(name, "Example")
	})
}

func (f *goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// load reads all modules in fsys. Test data, and what the go command ignores,
// are left out.
func load(t *testing.T, fsys fs.FS) *tree {
	t.Helper()
	tr := &tree{module: moduleOf(t, fsys), fset: token.NewFileSet(), texts: map[string]string{}}
	testenv.OK(t, fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		base := path.Base(p)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if p != "." && (base == "testdata" || base == "vendor" ||
				base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		case base == "go.mod" && p != base:
			tr.below = append(tr.below, path.Dir(p)+"/")
		}
		switch path.Ext(p) {
		case ".go", ".s", ".md":
			text := string(testenv.Must(fs.ReadFile(fsys, p)))
			tr.texts[p] = text
			if path.Ext(p) == ".go" {
				tr.files = append(tr.files, tr.parse(p, text))
			}
		}
		return nil
	}))
	return tr
}

// listed returns the tree without the modules that the table has no row for.
func (tr *tree) listed(tab *table) *tree {
	apart := func(p string) bool {
		return slices.ContainsFunc(tr.below, func(module string) bool {
			_, listed := tab.index[module+"..."]
			return !listed && strings.HasPrefix(p, module)
		})
	}
	some := *tr
	some.files = slices.DeleteFunc(slices.Clone(tr.files),
		func(f *goFile) bool { return apart(f.path) })
	some.texts = maps.Clone(tr.texts)
	maps.DeleteFunc(some.texts, func(p, _ string) bool { return apart(p) })
	return &some
}

func (tr *tree) parse(p, text string) *goFile {
	file := testenv.Must(parser.ParseFile(tr.fset, p, text,
		parser.ParseComments|parser.SkipObjectResolution))
	f := &goFile{File: file, path: p, dir: path.Dir(p), pkg: file.Name.Name,
		doc: file.Doc.Text(), lines: map[string]int{}}
	for _, spec := range file.Imports {
		f.imports = append(f.imports, testenv.Must(strconv.Unquote(spec.Path.Value)))
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) && group.Pos() < file.Package {
				f.tags = testenv.Must(constraint.Parse(c.Text))
			}
			f.links = f.links || strings.HasPrefix(c.Text, "//go:linkname ")
		}
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if fn.Recv == nil {
			f.funcs = append(f.funcs, fn.Name.Name)
		}
		f.lines[nameOf(fn)] = tr.lineOf(fn.End()) - tr.lineOf(fn.Pos()) + 1
	}
	return f
}

// nameOf names a declaration: Receiver.Function, Function, or its first
// variable.
func nameOf(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		var of string
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && of == "" {
				of = name.Name // in front of any type parameters
			}
			return true
		})
		return of + "." + d.Name.Name
	case *ast.GenDecl:
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return "?"
}

func (tr *tree) lineOf(pos token.Pos) int { return tr.fset.Position(pos).Line }

// moduleOf returns the module path that go.mod states.
func moduleOf(t *testing.T, fsys fs.FS) string {
	t.Helper()
	for _, line := range goMod(t, fsys) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	t.Fatal("go.mod states no module path")
	return ""
}

// goMod returns the lines of go.mod without comments, in the form they have
// outside of blocks.
func goMod(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	text := testenv.Must(fs.ReadFile(fsys, "go.mod"))
	var lines []string
	block := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line == ")":
			block = ""
		case strings.HasSuffix(line, "("):
			block = strings.TrimSpace(strings.TrimSuffix(line, "(")) + " "
		default:
			lines = append(lines, block+line)
		}
	}
	return lines
}
