package main

import (
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tool is netco-vet, built once.
var tool string

var update = flag.Bool("update", false, "write testdata/port/*.golden anew")

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "netco-vet-")
	if err != nil {
		panic(err)
	}
	tool = filepath.Join(dir, "netco-vet")
	// All that is run here is short and has memory: a quarter of its time is the
	// collector's otherwise.
	os.Setenv("GOGC", "400")
	out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput()
	if err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// root returns netco's own folder, or skips where this module stands alone.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "go.mod")); !strings.HasPrefix(string(text),
		"module github.com/netco-go/netco\n") {
		t.Skip("netco itself is not two folders above")
	}
	return dir
}

// alone is the environment of a module outside of the workspace.
func alone() []string {
	return append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod")
}

// run runs a command in dir and returns what it writes, and whether it failed.
func run(t *testing.T, dir, name string, args ...string) (out string, failed bool) {
	t.Helper()
	out, code := runCode(t, dir, name, args...)
	return out, code != 0
}

// runCode is run with the exit code.
func runCode(t *testing.T, dir, name string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = alone()
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// TestOwnTree: netco's own packages, programs and examples have no mistake. Its
// tests do, as that is what some of them are about.
func TestOwnTree(t *testing.T) {
	// In the workspace, which has the netco that the others require.
	cmd := exec.Command(tool, "-test=false", "./...", "./cmd/netco-bench/...", "./examples/...")
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// program makes a module that requires the netco above, of packages of the
// analyzers' tests.
func program(t *testing.T, packages ...string) (dir string) {
	t.Helper()
	above := root(t)
	dir = t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("go.mod", "module example.com/program\n\ngo 1.25.0\n\nrequire "+
		"github.com/netco-go/netco v0.0.0\n\n"+
		"replace github.com/netco-go/netco => "+above+"\n")
	write("go.sum", read(filepath.Join(above, "go.sum")))
	for _, name := range packages {
		text := read(filepath.Join("internal/vet/testdata/src", name, name+".go"))
		write(name+"/"+name+".go", strings.ReplaceAll(text, "\t\"dep\"",
			"\t\"example.com/program/dep\""))
	}
	if out, failed := run(t, dir, "go", "build", "-o", os.DevNull, "./..."); failed {
		t.Fatal(out)
	}
	return dir
}

// TestPort: imports change, in tests too; of the go statements those that serve
// connections. The module's own test passes then.
func TestPort(t *testing.T) {
	above, dir := root(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/port")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "server.go", "server_test.go"} {
		if err := os.Rename(filepath.Join(dir, name+".txt"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := os.ReadFile(filepath.Join(above, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666); err != nil {
		t.Fatal(err)
	}
	out, code := ported(t, "-netco", above, dir)
	if code != somethingLeft {
		t.Fatal(code, out)
	}
	server, err := os.ReadFile(filepath.Join(dir, "server.go"))
	if err != nil {
		t.Fatal(err)
	}
	for golden, got := range map[string]string{"report.golden": out,
		"server.go.golden": string(server)} {
		golden = filepath.Join("testdata/port", golden)
		if *update {
			err = os.WriteFile(golden, []byte(got), 0o666)
		}
		want, _ := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s should be\n%s\n%v", golden, got, err)
		}
	}
	if out, failed := run(t, dir, "go", "test", "."); failed {
		t.Error(out)
	}
}

// TestFixed: -diff changes nothing. With fixes made, programs build against the
// real netco, and what has no fix is all that is left to report, with the reason.
func TestFixed(t *testing.T) {
	left := map[string][]string{ // by package, parts of each line
		"locks":    nil,
		"handlers": {"go statement for c", "go statement for c", "go statement for c"},
		"times":    {"receive from a time.Ticker", "range over time.Tick", "time.Sleep"},
		"nets":     {"crypto/tls.Listen", "crypto/tls.Dial"},
		"waits":    {"runtime.LockOSThread"},
		"clients":  {"http.Serve"},
	}
	dir := program(t, slices.Collect(maps.Keys(left))...)
	try := func(args []string, code int, parts ...string) string {
		t.Helper()
		out, got := runCode(t, dir, tool, args...)
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%q: no %q in\n%s", args, part, out)
			}
		}
		if got != code {
			t.Errorf("%q: exit code %d, want %d", args, got, code)
		}
		return out
	}
	before := contents(t, dir)
	try([]string{"-fix", "-diff", "./locks"}, 0, "\n-\t\"sync\"\n",
		"\n+\t\"github.com/netco-go/netco/sync\"\n")
	if !maps.Equal(contents(t, dir), before) {
		t.Error("-diff has changed a file")
	}
	try([]string{"-fix", "./..."}, 0)
	if out, failed := run(t, dir, "go", "build", "-o", os.DevNull, "./..."); failed {
		t.Fatalf("the fixed programs do not build:\n%s", out)
	}
	after := try([]string{"./..."}, 3,
		"no fix: what it evaluates where it stands may be another thing later")
	for name, want := range left {
		got := linesOf(after, name)
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("left in %s:\n%s\nwant %q", name, strings.Join(got, "\n"), want)
		}
	}
	broken := filepath.Join(dir, "locks", "broken.go")
	if err := os.WriteFile(broken, []byte("package locks\n\nvar a = c\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	try([]string{"./locks"}, 1, "undefined: c")
}

// TestPortLeavesClients: a port changes nothing about clients of net/http, nor
// the go statements that call them.
func TestPortLeavesClients(t *testing.T) {
	dir := program(t, "clients")
	read := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "clients/clients.go"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := read()
	out, code := ported(t, "-netco", root(t), dir)
	if code != somethingLeft ||
		!strings.Contains(out, "0 imports of net and 0 go statements changed") {
		t.Error(code, out)
	}
	if after := read(); after != before {
		t.Errorf("changed:\n%s", after)
	}
}

// TestFixedWithTests: what a package's tests do counts for what changes the whole
// package, also where its tests are left out.
func TestFixedWithTests(t *testing.T) {
	dir := program(t, "locks")
	name := filepath.Join(dir, "locks/locks_test.go")
	text := "package locks\n\nimport \"sync\"\n\nfunc own(r *room) *sync.Mutex { return &r.mu }\n"
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-test=false", "-test=true"} {
		run(t, dir, tool, "-fix", flag, "./...")
		if out, failed := run(t, dir, "go", "test", "-run=^$", "./..."); failed {
			t.Errorf("%s: what is fixed does not build with its tests:\n%s", flag, out)
		}
	}
	after, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(after), "netco/sync") {
		t.Errorf("the import stays in the test:\n%s%v", after, err)
	}
}

// portForms is a package with go statements of several forms.
const portForms = `package forms

import "net"

type pair struct{ a, b net.Conn }

func Serve(ln net.Listener) {
	for n := 0; ; n++ {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		p := pair{c, c}
		go generic(c, n)
		go both(p, // a comment
			n)
		go one(c /* another one */, n /* and one more */)
		p.a = nil
		go one(several(c))
	}
}

func generic[T net.Conn](c T, n int)      { c.Close() }
func both(p pair, n int)                  { p.a.Read(nil) }
func one(c net.Conn, n int)               { c.Read(nil) }
func several(c net.Conn) (net.Conn, int)  { return c, 1 }
`

// TestPortForms: what is evaluated at a go statement stays so, comments too. A
// port that fails changes nothing, not even the version of Go that is stated.
func TestPortForms(t *testing.T) {
	dir := t.TempDir()
	name, mod := filepath.Join(dir, "forms.go"), filepath.Join(dir, "go.mod")
	const before = "module example.com/forms\n\ngo 1.25.1\n"
	if err := errors.Join(os.WriteFile(name, []byte(portForms), 0o666),
		os.WriteFile(mod, []byte(before), 0o666)); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string { text, _ := os.ReadFile(name); return string(text) }
	out, code := ported(t, "-netco", "v9.9.9", dir)
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); code != 1 || err == nil ||
		read(name) != portForms || read(mod) != before {
		t.Fatalf("changed by a port that failed: %s\n%s", out, read(mod)+read(name))
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"),
		[]byte(read(filepath.Join(root(t), "go.sum"))), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, code := ported(t, "-netco", root(t), dir); code != somethingLeft {
		t.Fatal(code, out)
	}
	for _, want := range []string{"n2 := n\n\t\tif _, err := netco.Go(func() { generic(c, n2) });",
		"\t\t\tgo generic(c, n2)\n", "// a comment\n", "p2 := p\n", "go serve()\n",
		"/* another one */", "/* and one more */", "go one(several(c))"} {
		if !strings.Contains(read(name), want) {
			t.Errorf("no %q in\n%s", want, read(name))
		}
	}
	if strings.Count(read(name), "/* another one */") != 1 || strings.Contains(read(name), "panic") ||
		!strings.Contains(read(mod), "go 1.25.1") {
		t.Error(read(name), read(mod))
	}
}

// TestPortCgo: what cgo makes of a file has other places than the file.
func TestPortCgo(t *testing.T) {
	if out, _ := run(t, ".", "go", "env", "CGO_ENABLED"); out != "1\n" {
		t.Skip("cgo is off: its files are not compiled")
	}
	dir := program(t, "handlers")
	name := filepath.Join(dir, "cgo.go")
	text := strings.Replace(portForms, "import ", "import \"C\"\n\nimport ", 1)
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, code := ported(t, "-netco", root(t), dir)
	after, _ := os.ReadFile(name)
	if code != somethingLeft || !strings.Contains(out, "cgo.go:") || string(after) != text {
		t.Errorf("%d: %s\n%s", code, out, after)
	}
}

// linesOf returns the lines about one package.
func linesOf(out, name string) (lines []string) {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "/"+name+"/"+name+".go:") && !strings.Contains(line, "no fix: ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestVettool: under go vet, facts go from package to package, too.
func TestVettool(t *testing.T) {
	dir := program(t, "dep", "calls")
	out, failed := run(t, dir, "go", "vet", "-vettool="+tool, "./...")
	if want := "server.serve → dep.Client.Do → Client.get → dep.go:"; !failed ||
		!strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	if out, failed := run(t, dir, "go", "vet", "-vettool="+tool, "./dep"); failed {
		t.Errorf("package dep has no coroutine:\n%s", out)
	}
}
