package fix

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

// TestUnused: imports that fixes have left without a use go, and what the fixes
// have made is found again.
func TestUnused(t *testing.T) {
	src := "package p\n\nimport (\n\t\"fmt\"\n\tstd \"net\"\n\t\"time\"\n)\n\nvar x = fmt.Sprint(1)\n"
	e := &edit.Edit{From: len(src) - 3, To: len(src) - 2, Text: "2"}
	made, err := edit.Apply([]byte(src), []*edit.Edit{e})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"net"}, "package p\n\nimport (\n\t\"fmt\"\n\t\"time\"\n)\n\nvar x = fmt.Sprint(2)\n"},
		{[]string{"net", "time"}, "package p\n\nimport (\n\t\"fmt\"\n)\n\nvar x = fmt.Sprint(2)\n"},
		{[]string{"fmt", "net", "time"}, "package p\n\nvar x = fmt.Sprint(2)\n"},
	} {
		own := *e
		text, err := edit.ChangeImports(made, []*edit.Edit{&own}, func(text []byte) ([]byte, error) {
			return regroup(text, importsOf(text), c.paths)
		})
		if err != nil || string(text) != c.want {
			t.Errorf("without %q: %v\n%s", c.paths, err, text)
		}
		last := strings.Count(string(text), "\n")
		if !own.Touches(text, last) || own.Touches(text, last-2) {
			t.Errorf("without %q: the edit is at %d to %d", c.paths, own.Begin, own.End)
		}
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
		name := filepath.Join(t.TempDir(), "p.go")
		if err := os.WriteFile(name, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		pkg := &packages.Package{Fset: token.NewFileSet()}
		f, err := parser.ParseFile(pkg.Fset, name, nil, parser.ParseComments)
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
		var trial Trial
		_, err = trial.apply(nil, []*Fix{New(pkg, edits)})
		if got := string(trial.Files[name].After); err != nil || got != want {
			t.Errorf("%s: %v, got\n%s", c.before, err, got)
		}
	}
}

// TestMake: an error takes back the fix that stands on its line, or else what
// Blame names, and in the end all that is left; then it is an error.
func TestMake(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(name, []byte("package p\n\nvar a = 1\nvar b = 2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	one := func(pkg string, from int, text string) *Fix {
		return &Fix{Pkg: &packages.Package{PkgPath: pkg}, Edits: map[string][]*edit.Edit{
			name: {{From: from, To: from + 1, Text: text}}}}
	}
	wrong := func(pkg, line, text string) []*packages.Package {
		return []*packages.Package{{ID: pkg, PkgPath: pkg, Errors: []packages.Error{
			{Pos: name + line, Msg: text}}}}
	}
	for _, c := range []struct {
		says      string
		when      string // the source has this: then it is wrong
		pkg, line string
		made      string // of the fixes
	}{
		{"nothing is wrong", "none", "p", ":3:1", "ab "},
		{"on its line", "a = 5", "q", ":3:1", " b "},
		{"by Blame", "b = 6", "p", ":1:1", "a  "},
		{"by the package", "a = 5", "p", ":2:1", " b "},
		{"all", "a = 5", "r", ":2:1", "   "},
	} {
		fixes := []*Fix{one("p", 19, "5"), one("q", 29, "6"), one("q", 29, "7")}
		trial := Trial{Known: map[string]bool{"p: known": true},
			Blame: []Blame{If(func(f *Fix, _ load.Mistake) bool {
				return f == fixes[1] && c.says == "by Blame"
			})},
			Load: func(overlay map[string][]byte) ([]*packages.Package, error) {
				if strings.Contains(string(overlay[name]), c.when) {
					return wrong(c.pkg, c.line, "wrong"), nil
				}
				return wrong("p", ":1:1", "known"), nil
			}}
		made, _, err := trial.Make(fixes, "overlaps")
		got := ""
		for i, f := range fixes {
			if slices.Contains(made, f) {
				got += "abc"[i : i+1]
			} else {
				got += " "
			}
		}
		if err != nil || got != c.made || fixes[2].Why != "overlaps" {
			t.Errorf("%s: %v, made %q, want %q", c.says, err, got, c.made)
		}
	}
	trial := Trial{Known: map[string]bool{}}
	trial.Load = func(map[string][]byte) ([]*packages.Package, error) {
		return wrong("p", ":1:1", "always"), nil
	}
	if _, _, err := trial.Make([]*Fix{one("p", 19, "5")}, ""); err == nil {
		t.Error("what cannot be made to compile is no error")
	}
}
