package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// language is the Go version that netco's go.mod states.
const language = "1.25.0"

//go:embed testdata/*_test.go.txt testdata/left/*.txt
var extras embed.FS

// errDownload wraps what keeps a module or its requirements from being had.
var errDownload = errors.New("cannot be downloaded")

// source returns the module's folder in the module cache.
func (m *module) source() (string, error) {
	// Outside of any module, so that no go.mod has a say.
	out, err := command(os.TempDir(), "go", "mod", "download", "-json", m.path+"@"+m.version)
	var found struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &found) != nil || found.Dir == "" {
		return "", fmt.Errorf("%s %w: %v", m.path, errDownload,
			cmp.Or(found.Error, fmt.Sprint(err)))
	}
	if found.Sum != m.sum {
		return "", fmt.Errorf("%s has the sum %s, want %s", m.path, found.Sum, m.sum)
	}
	return found.Dir, nil
}

// copyTo copies the module to dir as it is, but for go.mod and go.sum: they
// require netco, which is in the folder root, so that all ports run with the
// same versions of everything.
func (m *module) copyTo(dir, root string) error {
	from, err := m.source()
	if err != nil {
		return err
	}
	err = copyTree(dir, from, func(name string, text []byte) ([]byte, error) {
		if slices.Contains(m.without, strings.SplitN(name, "/", 2)[0]) {
			return nil, nil
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	if err := m.requireNetco(dir, root); err != nil {
		return err
	}
	// This downloads all, and completes go.sum.
	_, err = command(dir, "go", "list", "-mod=mod", "-deps", "-test", "./...", netcoModule,
		netPackage)
	if err != nil {
		return fmt.Errorf("requirements of %s %w: %v", m.path, errDownload, err)
	}
	return nil
}

// requireNetco writes go.mod and go.sum, not complete.
func (m *module) requireNetco(dir, root string) error {
	mod := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(mod); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(mod, []byte("module "+m.path+"\n"), 0o666); err != nil {
			return err
		}
	}
	// The go command would raise the language version too, but list all
	// requirements of requirements of an old module then.
	args := []string{"mod", "edit", "-go=" + language,
		"-require=" + netcoModule + "@v0.0.0", "-replace=" + netcoModule + "=" + root}
	for _, r := range m.require {
		args = append(args, "-require="+r)
	}
	if _, err := command(dir, "go", args...); err != nil {
		return err
	}
	var sums []byte
	for _, folder := range []string{dir, root} {
		text, err := os.ReadFile(filepath.Join(folder, "go.sum"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		sums = append(sums, text...)
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666)
}

// port is a copy of a module with a change made.
type port struct {
	*module
	kind     kind
	dir      string
	root     string         // netco's folder
	packages []*testPackage // those whose tests the change may matter to
}

// testPackage is a package with tests.
type testPackage struct {
	folder string // in the module, "." for its root
	name   string
}

// newPort makes a port in dir of the copy in original.
func (m *module) newPort(dir, original, root string, k kind) (*port, error) {
	p := &port{module: m, kind: k, dir: dir, root: root}
	changed := map[string]bool{} // folders
	err := copyTree(dir, original, func(name string, text []byte) ([]byte, error) {
		if !strings.HasSuffix(name, ".go") || k.tool {
			return text, nil
		}
		after, err := m.change(name, string(text), k.change)
		if after != string(text) {
			changed[filepath.Dir(name)] = true
		}
		return []byte(after), err
	})
	if err == nil && k.tool {
		err = p.byTool(original, changed)
	}
	if err != nil {
		return nil, err
	}
	if p.packages, err = p.list(changed); err != nil {
		return nil, err
	}
	if k.change.statements || k.tool {
		err = p.addExtras()
	}
	return p, err
}

// change is rewrite as the module needs it.
func (m *module) change(name, src string, c change) (string, error) {
	if m.keepNet[name] != "" {
		c.imports = false
	}
	if strings.HasSuffix(name, "_test.go") {
		if c.statements {
			for _, s := range m.tests {
				src = strings.ReplaceAll(src, s.old, s.new)
			}
		}
		c.statements = false
	}
	return rewrite(name, src, c)
}

// list returns the packages whose tests contain a package in one of the changed
// folders, or all with tests if nothing was changed.
func (p *port) list(changed map[string]bool) ([]*testPackage, error) {
	// Only now that netco is imported go.mod gets what that requires.
	out, err := command(p.dir, "go", "list", "-mod=mod", "-test", "-json=ImportPath,Name,Deps",
		"./...")
	if err != nil {
		return nil, err
	}
	touched := func(path string) bool {
		path, _, _ = strings.Cut(path, " ") // "path [path.test]"
		return changed[p.folder(strings.TrimSuffix(path, "_test"))]
	}
	var found []*testPackage
	names := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var pkg struct {
			ImportPath, Name string
			Deps             []string
		}
		if err := dec.Decode(&pkg); err != nil {
			return nil, err
		}
		names[pkg.ImportPath] = pkg.Name
		path, ok := strings.CutSuffix(pkg.ImportPath, ".test")
		if ok && (len(changed) == 0 || slices.ContainsFunc(pkg.Deps, touched)) {
			found = append(found, &testPackage{folder: p.folder(path), name: names[path]})
		}
	}
	return found, nil
}

// folder returns a package's folder in the module, or "" if it is of another.
func (p *port) folder(path string) string {
	if path == p.path {
		return "."
	}
	folder, ok := strings.CutPrefix(path, p.path+"/")
	if !ok {
		return ""
	}
	return folder
}

// addExtras adds what starts the Scheduler, and what else the tests need.
func (p *port) addExtras() error {
	for _, pkg := range p.packages {
		files := []string{"start_test.go"}
		if more := p.extra[pkg.folder]; more != "" {
			files = append(files, more)
		}
		for _, file := range files {
			text, err := extras.ReadFile("testdata/" + file + ".txt")
			if err != nil {
				return err
			}
			text = bytes.Replace(text, []byte("PACKAGE"), []byte(pkg.name), 1)
			file = filepath.Join(p.dir, pkg.folder, "netco_"+file)
			if err := os.WriteFile(file, text, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyTree copies a folder's files after change, which gets their names below
// from; those that it makes nil are left out.
func copyTree(to, from string, change func(name string, text []byte) ([]byte, error)) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text, err = change(name, text); err != nil || text == nil {
			return err
		}
		path = filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o666)
	})
}

// command runs a command in dir and returns what it writes to stdout; an error
// has the end of what it writes to stderr.
func command(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err,
			tail(stderr.String(), 30))
	}
	return out, err
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
