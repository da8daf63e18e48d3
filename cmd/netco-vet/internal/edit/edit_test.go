package edit

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

// holds wants a folder to have these files and no others.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for name, want := range want {
		if text, err := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
			t.Errorf("%s: %q, %v, want %q", name, text, err, want)
		}
	}
	if names, _ := os.ReadDir(dir); len(names) != len(want) {
		t.Errorf("there are others: %v", names)
	}
}

// TestWrite: all files are written with their permissions, or none is.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	a, b := file(t, dir, "a.go", "a"), file(t, dir, "b.go", "b")
	changes := []Change{
		{filepath.Join(dir, "new"), nil, []byte("new")},
		{a, []byte("a"), []byte("A")}, {b, []byte("other"), []byte("B")},
	}
	untouched := map[string]string{"a.go": "a", "b.go": "b"}
	if err := Write(changes); err == nil {
		t.Error("a file that has been changed meanwhile is written")
	}
	holds(t, dir, untouched)
	changes[2].Before = []byte("b")
	if err := Write(append(changes, Change{dir + "/no/such", nil, nil})); err == nil {
		t.Error("a file is written where no folder is")
	}
	holds(t, dir, untouched)
	if err := Write(changes); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"a.go": "A", "b.go": "B", "new": "new"})
	if info, err := os.Stat(a); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
}

// TestWriteUndone: where a file cannot be renamed, those before it get back what
// they had.
func TestWriteUndone(t *testing.T) {
	dir := t.TempDir()
	changes := []Change{{filepath.Join(dir, "new"), nil, []byte("new")},
		{file(t, dir, "a.go", "a"), []byte("a"), []byte("A")},
		{file(t, dir, "b.go", "b"), []byte("b"), []byte("B")}}
	defer func() { rename = os.Rename }()
	for n := range changes {
		rename = func(from, to string) error {
			if to == changes[n].Name {
				return os.ErrPermission
			}
			return os.Rename(from, to)
		}
		if err := Write(changes); err == nil {
			t.Errorf("no error of %s", changes[n].Name)
		}
		holds(t, dir, map[string]string{"a.go": "a", "b.go": "b"})
	}
}

// TestFixed: only ordinary files of the module are changed.
func TestFixed(t *testing.T) {
	dir := t.TempDir()
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
		if why := Fixed(root, name); (why == "") != want {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestApply: what two fixes have in common is made once.
func TestApply(t *testing.T) {
	add := "\n\t\"b\""
	for _, c := range []struct {
		name, src, want string
		edits           []*Edit
	}{
		{"one import of two fixes", "package p\n\nimport (\n\t\"a\"\n)\n\nvar x = f(1)\n",
			"package p\n\nimport (\n\t\"a\"\n\t\"b\"\n)\n\nvar x = g(h(1))\n", []*Edit{
				{From: 24, To: 24, Text: add}, {From: 36, To: 37, Text: "g(h"},
				{From: 40, To: 40, Text: ")"}, {From: 24, To: 24, Text: add},
			}},
		{"two imports in one group", "package p\n\nimport (\n\t\"a\"\n)\n",
			"package p\n\nimport (\n\t\"a\"\n\n\t\"x.y/b\"\n\t\"x.y/c\"\n)\n", []*Edit{
				{From: 24, To: 24, Text: "\n\n\t\"x.y/b\""},
				{From: 24, To: 24, Text: "\n\n\t\"x.y/c\""},
			}},
		{"edits that overlap", "package p\n", "", []*Edit{{From: 0, To: 7}, {From: 3, To: 9}}},
	} {
		text, err := Apply([]byte(c.src), c.edits)
		if string(text) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
}

// TestTouches: an edit is found again by lines of the result.
func TestTouches(t *testing.T) {
	e := &Edit{From: 19, To: 20, Text: "f( 2)"}
	text, err := Apply([]byte("package p\n\nvar x = 1\nvar y = 1\n"), []*Edit{e})
	if err != nil || string(text) != "package p\n\nvar x = f(2)\nvar y = 1\n" {
		t.Fatalf("%q, %v", text, err)
	}
	for line, want := range []bool{false, false, false, true, false, false, false} {
		if got := e.Touches(text, line); got != want {
			t.Errorf("line %d: %t", line, got)
		}
	}
}
