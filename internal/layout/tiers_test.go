package layout

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// Two tiers: users write against the packages of the first; those of the engine
// are public only because their folders stand at the top level.
var (
	usersPackages = []string{
		".", "blocking", "channel", "errgroup", "fiber", "introspect",
		"logging", "metrics", "net", "net/http", "outbox", "profile",
		"scheduler", "socket", "sync", "tls",
	}
	enginePackages = []string{
		"asm", "context", "coroutine", "epoller", "objpool", "processor", "rwmutex", "timer",
	}
)

// isEngine reports whether a package, by its import path, is the engine's.
func (tr *tree) isEngine(pkg string) bool {
	folder, ok := tr.local(pkg)
	return ok && slices.Contains(enginePackages, folder)
}

// usersOnly: examples, and the tests against other people's code, which show
// how netco is used, import nothing of the engine.
func usersOnly(s *source) (wrong []string) {
	for _, f := range s.all.files {
		if !strings.HasPrefix(f.path, "examples/") && !strings.HasPrefix(f.path, "interop/") {
			continue
		}
		for _, pkg := range f.imports {
			if s.isEngine(pkg) {
				wrong = append(wrong, fmt.Sprintf("%s imports %q, which is the engine's",
					f.path, pkg))
			}
		}
	}
	return wrong
}

// engineName is a name of an engine's package. Of context and timer it could be
// another package's.
var engineName = regexp.MustCompile(`\b(asm|coroutine|epoller|objpool|processor|rwmutex)\.[A-Z]\w*`)

// snippetsUsersOnly: no Go snippet on a page for users names the engine.
func snippetsUsersOnly(s *source) (wrong []string) {
	for p, text := range s.texts {
		if path.Ext(p) != ".md" || path.Dir(p) != "." && path.Dir(p) != "docs" {
			continue
		}
		for i, block := range strings.Split(text, "```") {
			if code, isGo := strings.CutPrefix(block, "go\n"); i%2 == 1 && isGo {
				if name := engineName.FindString(code); name != "" {
					wrong = append(wrong, fmt.Sprintf("%s has a snippet with %s, which is the "+
						"engine's", p, name))
				}
			}
		}
	}
	return wrong
}

// engineSays: the comment of an engine's package says so in its second
// paragraph, for a reader who takes it for the users'.
func engineSays(s *source) (wrong []string) {
	for _, dir := range enginePackages {
		if !slices.ContainsFunc(s.files, func(f *goFile) bool {
			_, second, _ := strings.Cut(f.doc, "\n\n")
			return f.dir == dir && strings.HasPrefix(second, "Engine: ")
		}) {
			wrong = append(wrong,
				dir+`: the package comment's second paragraph does not begin with "Engine:"`)
		}
	}
	return wrong
}

var update = flag.Bool("update", false, "write testdata/api.txt anew")

// maxNames is how many exported names users may have to learn: types,
// functions, methods, constants, variables, fields of structs and methods of
// interfaces, but for those of countedApart, which mirrors a whole package.
// Lower it when names go.
const (
	maxNames     = 757
	countedApart = "net/http"
)

// TestUsersAPI holds the users' packages against testdata/api.txt, so that a
// change to what users write against is seen in review. go test -update writes
// it anew.
func TestUsersAPI(t *testing.T) {
	var got strings.Builder
	names := 0
	for _, dir := range usersPackages {
		fmt.Fprintf(&got, "%s\n", path.Join("netco", dir))
		lines := exported(t, filepath.Join(root, dir))
		for _, line := range lines {
			fmt.Fprintf(&got, "\t%s\n", line)
		}
		if dir != countedApart {
			names += len(lines)
		}
	}
	if names > maxNames {
		t.Errorf("%d exported names, want %d at most", names, maxNames)
	}
	const golden = "testdata/api.txt"
	if *update {
		testenv.OK(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want := testenv.Must(os.ReadFile(golden))
	if got.String() != string(want) {
		t.Errorf("the users' API is not what %s says (go test -update writes it anew):\n%s", golden,
			difference(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")))
	}
}

// difference returns the lines that only one of two lists has.
func difference(was, is []string) string {
	var b strings.Builder
	for _, l := range was {
		if !slices.Contains(is, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// exported returns a line for each exported name of the package in a folder, as
// it is built for Linux on amd64, by the build constraints of its files.
func exported(t *testing.T, dir string) (lines []string) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range testenv.Must(filepath.Glob(filepath.Join(dir, "*.go"))) {
		text := testenv.Must(os.ReadFile(name))
		if strings.HasSuffix(name, "_test.go") || !builds(string(text)) {
			continue
		}
		f := testenv.Must(parser.ParseFile(fset, name, text, parser.SkipObjectResolution))
		files = append(files, f)
	}
	p := testenv.Must(doc.NewFromFiles(fset, files, filepath.Base(dir)))
	values := func(all []*doc.Value, kind string) {
		for _, v := range all {
			for _, name := range v.Names {
				if ast.IsExported(name) {
					lines = append(lines, kind+" "+name)
				}
			}
		}
	}
	funcs := func(all []*doc.Func) {
		for _, f := range all {
			f.Decl.Doc, f.Decl.Body = nil, nil
			lines = append(lines, oneLine(fset, f.Decl))
		}
	}
	values(p.Consts, "const")
	values(p.Vars, "var")
	funcs(p.Funcs)
	for _, typ := range p.Types {
		lines = append(lines, "type "+typ.Name)
		values(typ.Consts, "const")
		values(typ.Vars, "var")
		funcs(typ.Funcs)
		funcs(typ.Methods)
		lines = append(lines, fields(fset, typ)...)
	}
	slices.Sort(lines)
	return lines
}

// builds reports whether Go builds a file for Linux on amd64.
func builds(text string) bool {
	for line := range strings.Lines(text) {
		if constraint.IsGoBuild(line) {
			return testenv.Must(constraint.Parse(line)).Eval(func(tag string) bool {
				return tag == "linux" || tag == "amd64" || tag == "unix" ||
					strings.HasPrefix(tag, "go1.")
			})
		}
	}
	return true
}

// fields returns a line for each exported field of a struct, or method of an
// interface.
func fields(fset *token.FileSet, typ *doc.Type) (lines []string) {
	for _, spec := range typ.Decl.Specs {
		s := spec.(*ast.TypeSpec)
		var list *ast.FieldList
		switch x := s.Type.(type) {
		case *ast.StructType:
			list = x.Fields
		case *ast.InterfaceType:
			list = x.Methods
		default:
			continue
		}
		for _, f := range list.List {
			for _, name := range f.Names {
				if name.IsExported() {
					lines = append(lines, fmt.Sprintf("type %s, %s %s", s.Name.Name, name.Name,
						oneLine(fset, f.Type)))
				}
			}
		}
	}
	return lines
}

// oneLine prints a declaration without comments.
func oneLine(fset *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
