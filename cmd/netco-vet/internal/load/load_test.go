package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestLoad: what a change does not concern is taken as it was; the rest is as
// the change makes it, errors too.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.25.0\n",
		"a/a.go": "package a\n\nconst A = 1\n",
		"b/b.go": "package b\n\nimport \"m/a\"\n\nconst B int = a.A\n",
		"c/c.go": "package c\n\nimport \"strings\"\n\nvar C int = strings.ToUpper(\"\")\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	l := &Loader{Config: packages.Config{Dir: dir, Env: append(os.Environ(), "GOWORK=off")}}
	load := func(a string) map[string]*packages.Package {
		t.Helper()
		overlay := map[string][]byte{}
		if a != "" {
			overlay[filepath.Join(dir, "a/a.go")] = []byte("package a\n\n" + a)
		}
		pkgs, err := l.Load(overlay, true, "./...")
		if err != nil || len(pkgs) != 3 {
			t.Fatal(pkgs, err)
		}
		all := map[string]*packages.Package{}
		packages.Visit(pkgs, nil, func(p *packages.Package) { all[p.PkgPath] = p })
		return all
	}
	mistakes := func(all map[string]*packages.Package, known map[string]bool) (texts []string) {
		for _, m := range Mistakes([]*packages.Package{all["m/a"], all["m/b"], all["m/c"]}, known) {
			texts = append(texts, filepath.Base(m.File)+" "+m.Text)
		}
		return texts
	}
	first, known := load(""), map[string]bool{}
	if had := mistakes(first, known); len(had) != 1 || !strings.HasPrefix(had[0], "c.go cannot use") ||
		!Broken(first["m/c"]) || Broken(first["m/b"]) {
		t.Errorf("at first: %q", had)
	}
	wrong := load("const A = \"\"\n")
	if now := mistakes(wrong, known); len(now) != 1 || !strings.HasPrefix(now[0], "b.go cannot use") {
		t.Errorf("A is a string: %q", now)
	}
	for path, same := range map[string]bool{
		"m/a": false, "m/b": false, "m/c": true, "strings": true, "unsafe": true,
	} {
		if (first[path] == wrong[path]) != same {
			t.Errorf("%s is taken as it was: %v, want %v", path, !same, same)
		}
	}
	if again := load("const A = \"\"\n"); again["m/b"] != wrong["m/b"] {
		t.Error("the same change makes another package")
	}
	if back := load(""); Broken(back["m/b"]) {
		t.Error("the change stays")
	}
}
