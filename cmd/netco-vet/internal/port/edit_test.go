package port

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// TestApply: what two edits have in common is made once.
func TestApply(t *testing.T) {
	add := edit{24, 24, "\n\t\"b\""}
	for _, c := range []struct {
		name, src, want string
		edits           []edit
	}{
		{"one import for two", "package p\n\nimport (\n\t\"a\"\n)\n\nvar x = f(1)\n",
			"package p\n\nimport (\n\t\"a\"\n\t\"b\"\n)\n\nvar x = g(h(1))\n",
			[]edit{add, {36, 37, "g(h"}, {40, 40, ")"}, add}},
		{"two imports in one group", "package p\n\nimport (\n\t\"a\"\n)\n",
			"package p\n\nimport (\n\t\"a\"\n\n\t\"x.y/b\"\n\t\"x.y/c\"\n)\n",
			[]edit{{24, 24, "\n\n\t\"x.y/b\""}, {24, 24, "\n\n\t\"x.y/c\""}}},
		{"edits that overlap", "package p\n", "", []edit{{0, 7, ""}, {3, 9, ""}}},
	} {
		text, err := apply([]byte(c.src), c.edits)
		if string(text) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
	if in := (edit{3, 9, ""}); !overlap([]edit{in}, []edit{{0, 7, ""}}) ||
		overlap([]edit{in}, []edit{in, {9, 9, "x"}, {3, 3, "y"}}) {
		t.Error("edits overlap that do not, or the other way round")
	}
}

// TestImports: imports stand where goimports puts them.
func TestImports(t *testing.T) {
	const netco, net = `"github.com/netco-go/netco"`, `"github.com/netco-go/netco/net"`
	for _, c := range []struct{ before, after string }{
		{`import "net"`, "import (\n\t" + netco + "\n\t" + net + "\n)"},
		{`import nt "net"`, "import (\n\t" + netco + "\n\tnt " + net + "\n)"},
		{`import "fmt"`, "import (\n\t\"fmt\"\n\n\t" + netco + "\n)"},
		{"import (\n\t\"net\"\n)", "import (\n\t" + netco + "\n\t" + net + "\n)"},
		{"import (\n\t\"fmt\"\n\t\"net\"\n)", "import (\n\t\"fmt\"\n\n\t" + netco + "\n\t" + net +
			"\n)"},
		{"import (\n\t\"fmt\"\n\n\t\"github.com/a/b\"\n\t\"golang.org/x/net\"\n)",
			"import (\n\t\"fmt\"\n\n\t\"github.com/a/b\"\n\t" + netco + "\n\t\"golang.org/x/net\"\n)"},
		{"import (\n\t\"fmt\" // prints\n\t\"net\" // asks\n)",
			"import (\n\t\"fmt\" // prints\n\n\t" + netco + "\n\t" + net + " // asks\n)"},
	} {
		src := "package p\n\n" + c.before + "\n\nfunc f() {\n\tgo g()\n}\n"
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		call := f.Decls[len(f.Decls)-1].(*ast.FuncDecl).Body.List[0]
		edits := []analysis.TextEdit{vet.ImportEdit(f, "", "github.com/netco-go/netco"),
			{Pos: call.Pos(), End: call.End(), NewText: []byte("netco.Go(g)")}}
		for _, spec := range f.Imports {
			if spec.Path.Value == `"net"` {
				edits = append(edits, analysis.TextEdit{Pos: spec.Path.Pos(), End: spec.Path.End(),
					NewText: []byte(net)})
			}
		}
		want := "package p\n\n" + c.after + "\n\nfunc f() {\n\tnetco.Go(g)\n}\n"
		got, err := apply([]byte(src), editsOf(fset, edits))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v, got\n%s", c.before, err, got)
		}
	}
}
