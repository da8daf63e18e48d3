package check

import (
	"os"
	"path/filepath"
	"testing"
)

func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestWrite: all files are written with their permissions, or none is.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	a, b := file(t, dir, "a.go", "a"), file(t, dir, "b.go", "b")
	files := map[string]*source{
		a: {[]byte("a"), []byte("A")}, b: {[]byte("other"), []byte("B")},
	}
	if err := write(files); err == nil {
		t.Error("a file that has been changed meanwhile is written")
	}
	if text, _ := os.ReadFile(a); string(text) != "a" {
		t.Errorf("%s is written though %s is not", a, b)
	}
	files[b].before = []byte("b")
	if err := write(files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{a: "A", b: "B"} {
		text, _ := os.ReadFile(name)
		info, err := os.Stat(name)
		if err != nil || string(text) != want || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, %v, %v", name, text, info, err)
		}
	}
	if names, _ := os.ReadDir(dir); len(names) != 2 {
		t.Errorf("temporary files are left: %v", names)
	}
}

// TestEditable: only ordinary files of the module are changed.
func TestEditable(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, other := filepath.Join(dir, "module"), filepath.Join(dir, "other")
	for _, name := range []string{root, other} {
		if err := os.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	in, out := file(t, root, "a.go", ""), file(t, other, "b.go", "")
	link, folder := filepath.Join(root, "c.go"), filepath.Join(root, "linked")
	if os.Symlink(out, link) != nil || os.Symlink(other, folder) != nil {
		t.Skip("no symbolic links here")
	}
	for name, want := range map[string]bool{
		in: true, out: false, link: false, filepath.Join(folder, "b.go"): false,
	} {
		if why := editable(name, []string{root}); (why == "") != want {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestMerged: what two fixes have in common is made once.
func TestMerged(t *testing.T) {
	add := "\n\t\"b\""
	text, err := merged([]byte("package p\n\nimport (\n\t\"a\"\n)\n\nvar x = f(1)\n"), []*edit{
		{from: 24, to: 24, text: add}, {from: 36, to: 37, text: "g(h"}, {from: 40, to: 40, text: ")"},
		{from: 24, to: 24, text: add},
	})
	want := "package p\n\nimport (\n\t\"a\"\n\t\"b\"\n)\n\nvar x = g(h(1))\n"
	if err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	text, err = merged([]byte("package p\n\nimport (\n\t\"a\"\n)\n"), []*edit{
		{from: 24, to: 24, text: "\n\n\t\"x.y/b\""}, {from: 24, to: 24, text: "\n\n\t\"x.y/c\""},
	})
	want = "package p\n\nimport (\n\t\"a\"\n\n\t\"x.y/b\"\n\t\"x.y/c\"\n)\n"
	if err != nil || string(text) != want {
		t.Errorf("two imports are not in one group: %q, %v", text, err)
	}
	if _, err := merged([]byte("package p\n"), []*edit{{from: 0, to: 7}, {from: 3, to: 9}}); err == nil {
		t.Error("edits that overlap are made")
	}
}
