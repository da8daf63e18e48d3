package layout

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// tree is the source of the root module and of the modules that have a row in
// the table, parsed. Paths are relative to the root and slash-separated.
type tree struct {
	module string
	files  []*goFile
	texts  map[string]string // Go, assembly and Markdown files
}

// goFile is one Go file, whatever platform it is for.
type goFile struct {
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

// load reads the module in fsys, and the modules below that the table has a row
// for. Other modules, test data, and what the go command ignores are left out.
func load(t *testing.T, fsys fs.FS, tab *table) *tree {
	t.Helper()
	tr := &tree{module: moduleOf(t, fsys), texts: map[string]string{}}
	testenv.OK(t, fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if ignored(fsys, p, tab) {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(p) {
		case ".go", ".s", ".md":
		default:
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		tr.texts[p] = string(text)
		if path.Ext(p) == ".go" {
			tr.files = append(tr.files, parse(t, p, text))
		}
		return nil
	}))
	return tr
}

func ignored(fsys fs.FS, dir string, tab *table) bool {
	if _, listed := tab.index[dir+"/..."]; listed || dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func parse(t *testing.T, p string, text []byte) *goFile {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	testenv.OK(t, err)
	f := &goFile{path: p, dir: path.Dir(p), pkg: file.Name.Name, doc: file.Doc.Text(),
		lines: map[string]int{}}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", p, spec.Path.Value, err)
		}
		f.imports = append(f.imports, name)
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) && group.Pos() < file.Package {
				if f.tags, err = constraint.Parse(c.Text); err != nil {
					t.Fatalf("%s: %v", p, err)
				}
			}
			f.links = f.links || strings.HasPrefix(c.Text, "//go:linkname ")
		}
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv == nil {
			f.funcs = append(f.funcs, name)
		} else {
			name = receiver(fn.Recv.List[0].Type) + "." + name
		}
		f.lines[name] = fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
	}
	return f
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

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
