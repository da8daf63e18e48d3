package port

import (
	"testing"

	"golang.org/x/tools/go/packages"
)

// made is a port of three files: b and c use what a declares, and b has nothing
// to change itself.
func made() (p *port, a, b, c *file) {
	of := func(name string, imports ...edit) *file {
		return &file{name: name, pkg: "m", imports: imports}
	}
	a, b, c = of("/m/a.go", edit{}), of("/m/b/b.go"), of("/m/c.go", edit{})
	a.statements = []*statement{{}}
	b.shared, c.shared = map[string]string{a.name: "m.X"}, map[string]string{a.name: "m.Y"}
	c.pkg = "m/c"
	return &port{root: "/m", files: map[string]*file{a.name: a, b.name: b, c.name: c},
		made: map[string]change{a.name: {}, c.name: {}}}, a, b, c
}

// TestBlame: a mistake is blamed on the changes of its file; in a file that has
// none, on the imports of what that shares with others; or else on the package,
// and in the end on all.
func TestBlame(t *testing.T) {
	const would = "it would not compile: no"
	for _, c := range []struct{ says, pkg, file, a, c string }{
		{"its file", "m", "/m/a.go", would, ""},
		{"what its file uses", "m", "/m/b/b.go", "it shares m.X with b/b.go", ""},
		{"its package", "m/c", "", "", would},
		{"all", "x", "/x/x.go", would, would},
	} {
		p, fa, _, fc := made()
		some := p.blame([]mistake{{pkg: c.pkg, file: c.file, text: "no"}})
		if !some || fa.left != c.a || fc.left != c.c || fa.statements[0].left != c.a {
			t.Errorf("%s: %q, %q", c.says, fa.left, fc.left)
		}
	}
	if p, _, _, _ := made(); (&port{files: p.files}).blame([]mistake{{text: "no"}}) {
		t.Error("where nothing is changed something is blamed")
	}
}

// TestSpread: what shares types with a file that stays does so too.
func TestSpread(t *testing.T) {
	p, a, b, c := made()
	if p.spread(); a.stays() || c.stays() {
		t.Error("a file stays for nothing")
	}
	p.blame([]mistake{{file: b.name, text: "no"}})
	if p.spread(); !a.stays() || !b.stays() || c.left != "it shares m.Y with a.go" ||
		a.statements[0].left == "" {
		t.Errorf("left: %q, %q", a.left, c.left)
	}
	if own(&packages.Package{}) {
		t.Error("a package of no module is the module's")
	}
}
