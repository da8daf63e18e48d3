package port

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// files writes a folder with two files, one of which nothing but its owner may
// read, and returns changes of these and of one that is new.
func files(t *testing.T) (dir string, changes []change) {
	t.Helper()
	dir = t.TempDir()
	for name, mode := range map[string]os.FileMode{"a.go": 0o600, "b.go": 0o644} {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte("before"), mode); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, change{Name: name, before: []byte("before"),
			after: []byte("after")})
	}
	return dir, append(changes, change{Name: filepath.Join(dir, "new.go"), after: []byte("after"),
		created: true})
}

// contents are the contents of a folder's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

var (
	untouched = map[string]string{"a.go": "before", "b.go": "before"}
	done      = map[string]string{"a.go": "after", "b.go": "after", "new.go": "after"}
)

// onRename sets what happens after each rename of a commit.
func onRename(t *testing.T, f func(n int) error) {
	was := renamed
	renamed = f
	t.Cleanup(func() { renamed = was })
}

// TestCommit: all files change, and keep their modes.
func TestCommit(t *testing.T) {
	dir, changes := files(t)
	if err := commit(t.Context(), dir, changes); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir); !maps.Equal(got, done) {
		t.Error(got)
	}
	info, err := os.Stat(filepath.Join(dir, "a.go"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestCommitUndone: an error, a panic or a signal after any of the renames
// leaves all files as they were.
func TestCommitUndone(t *testing.T) {
	for n := 1; n <= 3; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		for name, fail := range map[string]func() error{
			"error":  func() error { return errors.New("an error") },
			"panic":  func() error { panic("a panic") },
			"signal": func() error { cancel(); return nil },
		} {
			dir, changes := files(t)
			onRename(t, func(at int) error {
				if at == n {
					return fail()
				}
				return nil
			})
			err := commit(ctx, dir, changes)
			if got := contents(t, dir); err == nil || !maps.Equal(got, untouched) {
				t.Errorf("%s after %d: %v, %v", name, n, err, got)
			}
		}
	}
}

// TestCommitElsewhere: what another program has changed meanwhile is neither
// overwritten nor brought back.
func TestCommitElsewhere(t *testing.T) {
	dir, changes := files(t)
	other := filepath.Join(dir, "b.go")
	if err := os.WriteFile(other, []byte("edited"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := commit(t.Context(), dir, changes)
	if got := contents(t, dir); err == nil || got["b.go"] != "edited" || got["a.go"] != "before" {
		t.Error(err, got)
	}
	dir, changes = files(t)
	if err := commit(t.Context(), dir, append(changes, change{
		Name: filepath.Join(dir, "..", "x.go"), created: true})); err == nil {
		t.Error("a file outside is no error")
	}
	if got := contents(t, dir); !maps.Equal(got, untouched) {
		t.Error(got)
	}
}

// killed leaves a port's files as they are after n of the renames.
func killed(t *testing.T, n int) (dir string) {
	t.Helper()
	dir, changes := files(t)
	j := newJournal(dir, changes)
	if err := errors.Join(j.open(os.O_CREATE), j.write(), j.prepare(t.Context(), changes)); err != nil {
		t.Fatal(err)
	}
	for _, e := range j.Entries[:n] {
		if err := os.Rename(j.path(e.New), j.path(e.Name)); err != nil {
			t.Fatal(err)
		}
	}
	j.file.Close()
	return dir
}

// TestRecover: the port after one that was killed undoes that, wherever it was.
// A dry run does not.
func TestRecover(t *testing.T) {
	for n := range 4 {
		dir := killed(t, n)
		p, out := &port{root: dir}, &strings.Builder{}
		p.Dry = true
		if err := p.recover(out); err == nil {
			t.Error("a dry run recovers")
		}
		p.Dry = false
		err := p.recover(out)
		if got := contents(t, dir); err != nil || !maps.Equal(got, untouched) || out.Len() == 0 {
			t.Errorf("killed after %d: %v, %v", n, err, got)
		}
	}
	dir := killed(t, 2)
	name := filepath.Join(dir, journalName)
	if err := os.WriteFile(name, []byte(`{"Entries": [{"Name": "../x"`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := (&port{root: dir}).recover(&strings.Builder{}); err != nil {
		t.Errorf("half a journal: %v", err)
	}
}

// TestLock: two ports of a module are not under way together.
func TestLock(t *testing.T) {
	dir, changes := files(t)
	onRename(t, func(int) error {
		err := (&port{root: dir}).recover(&strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), "under way") {
			t.Errorf("a second port: %v", err)
		}
		return nil
	})
	if err := commit(t.Context(), dir, changes); err != nil {
		t.Fatal(err)
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
	s := &statement{lines: span{3, 5}}
	a := &file{name: "/m/a.go", imports: []span{{}}, statements: []*statement{s}}
	b := &file{name: "/m/b/b.go", shared: map[string]string{"/m/a.go": "m.X"}}
	p := &port{root: "/m", files: map[string]*file{a.name: a, b.name: b}}
	p.ctx = t.Context()
	if !p.takeBack([]mistake{{text: "no", file: a.name, line: 4}}) || s.why == "" || a.stays() {
		t.Error("the statement stays changed")
	}
	if !p.takeBack([]mistake{{text: "no", file: b.name, line: 4}}) {
		t.Error("nothing is taken back")
	}
	if p.spread(); !a.stays() {
		t.Error("what the file shares with others does not stay")
	}
	if p.takeBack([]mistake{{text: "no", file: b.name, line: 4}}) {
		t.Error("there was nothing to take back")
	}
	if own(&packages.Package{}) {
		t.Error("a package of no module is the module's")
	}
}
