package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/netco-go/netco/internal/testenv"
)

// TestStartsAreChecked: code that people copy checks the error of starting a
// coroutine. Where it was ignored, a connection whose coroutine could not be
// started (Options.MaxCoroutines) stayed open for good.
func TestStartsAreChecked(t *testing.T) {
	fsys, _, _ := read(t)
	report(t, startsChecked(t, fsys))
}

// TestStartsRule: the rule finds what it is for.
func TestStartsRule(t *testing.T) {
	const code = "package main\n\nfunc main() {\n\tnetco.Go(f)\n\tif _, err := " +
		"netco.GoWith(netco.Spawn{}); err != nil {\n\t}\n\tx.s.GoWith(sp)\n\tgroup.Go(f)\n}\n"
	wrong := startsChecked(t, fstest.MapFS{
		"examples/a/main.go":    {Data: []byte(code)},
		"cmd/a/main.go":         {Data: []byte(code)},
		"a/example_test.go":     {Data: []byte(code)},
		"a/b_example_x_test.go": {Data: []byte(code)},
		"a/a_test.go":           {Data: []byte(code)},
		"a/doc.go":              {Data: []byte("// Package a\n//\n//\tnetco.Go(f)\npackage a\n")},
		"README.md": {Data: []byte("\tnetco.Go(f)\n`netco.Go(f)` starts " +
			"f:\n+\tnetco.Go(f)\n")},
	})
	got := strings.Join(wrong, "\n")
	want := strings.Join([]string{"README.md:1", "README.md:3", "a/b_example_x_test.go:4",
		"a/b_example_x_test.go:7", "a/doc.go:3", "a/example_test.go:4", "a/example_test.go:7",
		"cmd/a/main.go:4", "cmd/a/main.go:7", "examples/a/main.go:4", "examples/a/main.go:7"},
		": the error of starting a coroutine is ignored\n") +
		": the error of starting a coroutine is ignored"
	testenv.Equal(t, got, want)
}

// snippet is a bare call in a page or a comment, at the beginning of a line
// but for what marks the line.
var snippet = regexp.MustCompile(`^(//|[+])?\s+netco\.Go[A-Za-z]*\(`)

// startsChecked looks at all that people copy: examples, programs, pages, and
// what stands indented in comments.
func startsChecked(t *testing.T, fsys fs.FS) (wrong []string) {
	bad := func(file string, line int) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: the error of starting a coroutine is ignored",
			file, line))
	}
	testenv.OK(t, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); name != "." && (base[0] == '.' || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		isGo, isPage := strings.HasSuffix(name, ".go"), strings.HasSuffix(name, ".md")
		if !isGo && !isPage {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if snippet.MatchString(line) && (isPage || strings.HasPrefix(line, "//")) {
				bad(name, i+1)
			}
		}
		if !isGo || !copied(name) {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.ExprStmt); ok && starts(s.X) {
				bad(name, files.Position(s.Pos()).Line)
			}
			return true
		})
		return nil
	}))
	return wrong
}

// copied reports whether a file is one of those that people copy from.
func copied(name string) bool {
	test := strings.HasSuffix(name, "_test.go")
	program := strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, "cmd/")
	return program && !test || test && strings.Contains(path.Base(name), "example")
}

// starts reports whether x is a call that starts a coroutine and may refuse:
// one of package netco's, or a Scheduler's GoWith. Other things have a Go.
func starts(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(f.Sel.Name, "Go") {
		return false
	}
	if of, ok := f.X.(*ast.Ident); ok && of.Name == "netco" {
		return true
	}
	return f.Sel.Name == "GoWith"
}
