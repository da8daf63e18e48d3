package port

import (
	"os"
	"path/filepath"
	"testing"
)

func written(t *testing.T, dir, name, text string) string {
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
	a, b := written(t, dir, "a.go", "a"), written(t, dir, "b.go", "b")
	changes := []change{
		{filepath.Join(dir, "new"), nil, []byte("new")},
		{a, []byte("a"), []byte("A")}, {b, []byte("other"), []byte("B")},
	}
	untouched := map[string]string{"a.go": "a", "b.go": "b"}
	if err := writeAll(changes); err == nil {
		t.Error("a file that has been changed meanwhile is written")
	}
	holds(t, dir, untouched)
	changes[2].before = []byte("b")
	if err := writeAll(append(changes, change{dir + "/no/such", nil, nil})); err == nil {
		t.Error("a file is written where no folder is")
	}
	holds(t, dir, untouched)
	if err := writeAll(changes); err != nil {
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
	changes := []change{{filepath.Join(dir, "new"), nil, []byte("new")},
		{written(t, dir, "a.go", "a"), []byte("a"), []byte("A")},
		{written(t, dir, "b.go", "b"), []byte("b"), []byte("B")}}
	defer func() { rename = os.Rename }()
	for n := range changes {
		rename = func(from, to string) error {
			if to == changes[n].name {
				return os.ErrPermission
			}
			return os.Rename(from, to)
		}
		if err := writeAll(changes); err == nil {
			t.Errorf("no error of %s", changes[n].name)
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
	in, out := written(t, root, "a.go", ""), written(t, other, "b.go", "")
	link, folder := filepath.Join(root, "c.go"), filepath.Join(root, "linked")
	if os.Symlink(out, link) != nil || os.Symlink(other, folder) != nil {
		t.Skip("no symbolic links here")
	}
	for name, want := range map[string]bool{
		in: true, out: false, link: false, filepath.Join(folder, "b.go"): false,
	} {
		if why := fixed(root, name); (why == "") != want {
			t.Errorf("%s: %q", name, why)
		}
	}
}
