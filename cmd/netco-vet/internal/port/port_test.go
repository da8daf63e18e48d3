package port

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

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
		from := strings.Index(src, "go g()")
		f := &file{name: "p.go", src: []byte(src), statements: []*statement{{
			span: span{from, from + len("go g()")}, text: "netco.Go(g)", imports: true,
		}}}
		if at := strings.Index(src, `"net"`); at >= 0 {
			f.imports = []span{{at, at + len(`"net"`)}}
		}
		want := "package p\n\n" + c.after + "\n\nfunc f() {\n\tnetco.Go(g)\n}\n"
		if err := f.rewrite(); err != nil || string(f.after) != want {
			t.Errorf("%s: %v, got\n%s", c.before, err, f.after)
		}
	}
}

// TestTakeBack: an error takes back the statement that has it; in a file that
// stays, what that shares with others; at last everything, and then it reports
// that there is nothing more.
func TestTakeBack(t *testing.T) {
	s := &statement{made: &edit.Edit{Begin: 2, End: 4}} // of a line for each byte
	a := &file{name: "/m/a.go", imports: []span{{}}, statements: []*statement{s},
		after: []byte("1\n2\n3\n4\n5\n")}
	b := &file{name: "/m/b/b.go", shared: map[string]string{"/m/a.go": "m.X"}}
	p := &port{root: "/m", files: map[string]*file{a.name: a, b.name: b}}
	p.ctx = t.Context()
	if !p.takeBack([]load.Mistake{{Text: "no", File: a.name, Line: 4}}) || s.why == "" || a.stays() {
		t.Error("the statement stays changed")
	}
	if !p.takeBack([]load.Mistake{{Text: "no", File: b.name, Line: 4}}) {
		t.Error("nothing is taken back")
	}
	if p.spread(); !a.stays() {
		t.Error("what the file shares with others does not stay")
	}
	if p.takeBack([]load.Mistake{{Text: "no", File: b.name, Line: 4}}) {
		t.Error("there was nothing to take back")
	}
	if own(&packages.Package{}) {
		t.Error("a package of no module is the module's")
	}
}
