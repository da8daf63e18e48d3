package port

import (
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/fix"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

// TestTakeBack: an error is blamed on the imports of its file; in a file that
// has none, or whose imports stay, on those of what that shares with others.
func TestTakeBack(t *testing.T) {
	of := func(name string, imports int) *file {
		return &file{name: name, imports: imports, change: &fix.Fix{}}
	}
	a, b, c := of("/m/a.go", 1), of("/m/b/b.go", 0), of("/m/c.go", 1)
	s := &statement{Fix: &fix.Fix{}}
	a.statements = []*statement{s}
	b.shared, c.shared = map[string]string{a.name: "m.X"}, map[string]string{a.name: "m.Y"}
	p := &port{root: "/m", files: map[string]*file{a.name: a, b.name: b, c.name: c}}
	inA, inB := load.Mistake{Text: "no", File: a.name}, load.Mistake{Text: "no", File: b.name}
	if p.imports(a.change, inA) == "" || p.imports(a.change, inB) != "" ||
		p.uses(c.change, inB) != "" {
		t.Error("the wrong imports are blamed")
	}
	if p.spread(); a.stays() || c.stays() {
		t.Error("a file stays for nothing")
	}
	a.change.Leave(p.uses(a.change, inB))
	if p.spread(); !a.stays() || !b.stays() || c.change.Why != "it shares m.Y with a.go" ||
		s.Why == "" {
		t.Errorf("left: %q, %q, %q", a.change.Why, c.change.Why, s.Why)
	}
	if own(&packages.Package{}) {
		t.Error("a package of no module is the module's")
	}
}
