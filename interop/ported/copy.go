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
	"path"
	"path/filepath"
	"regexp"
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
	var found struct{ Dir, Error string }
	if json.Unmarshal(out, &found) != nil || found.Dir == "" {
		return "", fmt.Errorf("%s %w: %v", m.path, errDownload,
			cmp.Or(found.Error, fmt.Sprint(err)))
	}
	return found.Dir, nil
}

// copyTo copies the module to dir as it is, but for go.mod and go.sum: they
// require netco, so that all ports run with the same versions of everything.
func (m *module) copyTo(dir string) error {
	from, err := m.source()
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return err
	}
	for _, folder := range m.without {
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	if err := m.requireNetco(dir); err != nil {
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
func (m *module) requireNetco(dir string) error {
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
	packages []*testPackage
}

// testPackage is a package with tests.
type testPackage struct {
	folder string // in the module, "." for its root
	name   string
}

// newPort makes a port in dir of the copy in original.
func (m *module) newPort(dir, original string, k kind) (*port, error) {
	p := &port{module: m, kind: k, dir: dir}
	err := os.CopyFS(dir, os.DirFS(original))
	if err == nil && !k.tool {
		err = m.rewriteAll(dir, k.change)
	}
	if err == nil && k.tool {
		err = p.byTool(original)
	}
	if err == nil {
		err = p.list()
	}
	if err == nil && k != untouched {
		err = p.addExtras()
	}
	return p, err
}

// rewriteAll makes a change in the module's files in dir, as the module needs it.
func (m *module) rewriteAll(dir string, all change) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c, src := all, string(text)
		if name, _ := filepath.Rel(dir, path); m.keepNet[name] != "" {
			c.imports = false
		}
		if strings.HasSuffix(path, "_test.go") {
			for _, s := range m.tests {
				if c.statements {
					src = strings.ReplaceAll(src, s.old, s.new)
				}
			}
			c.statements = false
		}
		if src, err = rewrite(path, src, c); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(src), 0o666)
	})
}

// list finds the packages with tests.
func (p *port) list() error {
	// Only now that netco is imported go.mod gets what that requires.
	out, err := command(p.dir, "go", "list", "-mod=mod", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}} {{.Name}}{{end}}", "./...")
	for line := range strings.Lines(string(out)) {
		dir, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		folder, _ := filepath.Rel(p.dir, dir)
		p.packages = append(p.packages, &testPackage{folder, name})
	}
	return err
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

// build compiles the tests of some packages.
func (p *port) build(packages []*testPackage) error {
	// With -trimpath the build cache does not mind where the copy is.
	args := []string{"test", "-c", "-trimpath", "-vet=off", "-o", p.dir + ".tests/"}
	for _, pkg := range packages {
		args = append(args, "./"+pkg.folder)
	}
	_, err := command(p.dir, "go", args...)
	return err
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// binary is where the go command puts the tests of a package.
func (p *port) binary(pkg *testPackage) string {
	name := path.Join(p.path, pkg.folder)
	if majorVersion.MatchString(path.Base(name)) {
		name = path.Dir(name)
	}
	return filepath.Join(p.dir+".tests", path.Base(name)+".test")
}

// command runs a command in dir and returns what it writes to stdout; an error
// has the end of what it writes to stderr.
func command(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
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
