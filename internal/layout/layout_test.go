package layout

import (
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/netco-go/netco/internal/testenv"
)

// root is the module's, seen from this folder.
const root = "../.."

// source is what the rules are about: the modules that the table has a row for,
// and what these must follow.
type source struct {
	*tree
	all     *tree // all modules
	fsys    fs.FS
	tab     *table
	goMod   []string          // as goMod returns it
	entries map[string]string // see callsListed
}

func read(t *testing.T, fsys fs.FS, entries map[string]string) *source {
	t.Helper()
	page := testenv.Must(fs.ReadFile(fsys, tableFile))
	tab := testenv.Must(parseTable(string(page)))
	all := load(t, fsys)
	return &source{all.listed(tab), all, fsys, tab, goMod(t, fsys), entries}
}

// rules are what the tree is held to, each with what it finds in the sample:
// what the lines must contain, in alphabetical order.
var rules = []struct {
	name   string
	rule   func(*source) []string
	sample []string
}{
	{"imports follow the table", importsFollow, []string{
		`high/high.go imports "example.com/other"`,
		`low/low.go imports "example.com/m/high"`,
		`folder "stray" has no row`,
		`folder "stray" has no row`,
	}},
	{"rows are live", rowsLive, []string{`row for "gone"`}},
	{"requirements", requires, []string{"go.mod requires example.com/other"}},
	{"unsafe is named", unsafeNamed, []string{"low/tag.go"}},
	{"nothing is left to do", finished, []string{"high/high.go:1"}},
	{"packages are documented", documented, []string{
		"high: package high has no package comment",
		"high: public package high has no func Example"}},
	{"pages name what exists", mentionsExist, []string{"README.md names netco.Go",
		"docs/MORE.md links to ../GONE.md", "docs/MORE.md names low.TestGone",
		"docs/MORE.md names low/gone.s"}},
	{"wording", plain, []string{
		"cmd/wordy/deep/main.go:1: 82 columns, want 80",
		`cmd/wordy/deep/main.go:5: "nobody"`,
		"cmd/wordy/deep/main.go:6: 101 columns, want 100",
		`cmd/wordy/deep/main.go:7: ". Who "`,
		"cmd/wordy/deep/main.go:9: 101 columns of code, want 100",
		`cmd/wordy/wordy.s:2: "somebody"`,
		`cmd/wordy/wordy.s:2: "tells"`,
	}},
	{"tests are short", short, []string{"low/low_test.go: T.tooLong has 61 lines, want 60"}},
	{"Go releases are fenced", releasesFenced, []string{"low/new_go127.go is named",
		"low/tag.go has a go:linkname", "low/tag.go is built by Go release (go1.26)"}},
	{"system calls are listed", callsListed, []string{"a.T.listed is listed twice",
		"a.gone makes none", "a/a.go:5: a.v calls syscall.Close",
		"a/a.go:9: a.f calls sysx.CloseFD"}},
	{"starts are checked", startsChecked, []string{"README.md:1", "README.md:3",
		"a/b_example_x_test.go:4", "a/b_example_x_test.go:7", "a/doc.go:3", "a/example_test.go:4",
		"a/example_test.go:7", "cmd/a/main.go:4", "cmd/a/main.go:7", "examples/main.go:4",
		"examples/main.go:7"}},
	{"users' code is without the engine", usersOnly, []string{
		`examples/asm.go imports "example.com/m/asm"`,
		`interop/x.go imports "example.com/m/timer"`}},
	{"so are snippets", snippetsUsersOnly, []string{"docs/MORE.md has a snippet with asm.Getg"}},
	{"the engine says so", engineSays, enginePackages},
}

// TestRules holds the tree to the rules, and these to the sample.
func TestRules(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // almost all of it stays until the end
	tree := read(t, os.DirFS(root), entries)
	broken := read(t, sample, map[string]string{"why": "a.T.listed a.gone", "too": "a.T.listed"})
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, wrong := range r.rule(tree) {
				t.Error(wrong)
			}
			got := r.rule(broken)
			slices.Sort(got)
			if !slices.EqualFunc(got, r.sample, strings.Contains) {
				t.Errorf("of the sample: got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"),
					strings.Join(r.sample, "\n\t"))
			}
		})
	}
}

// sample is a small module that breaks each rule.
var sample = fstest.MapFS{
	"go.mod": {Data: []byte("module example.com/m\n\ngo 1.25.0\n\nrequire " +
		"(\n\tgolang.org/x/sys v0.1.0\n\texample.com/other v1.0.0 // indirect\n)\n")},
	"docs/ARCHITECTURE.md": {Data: []byte(samplePage)},
	"low/low.go": {Data: []byte("// Package low is below.\npackage low\n\nimport _ " +
		"\"example.com/m/high\"\n")},
	"low/low_test.go": {Data: []byte("package low\n\nimport _ " +
		"\"example.com/m/high\"\n\nfunc ExampleX() {}\n\nfunc (*T[A]) tooLong() {" +
		strings.Repeat("\n", screenLines) + "}\n")},
	"low/new_go127.go": {Data: []byte("package low\n")},
	"low/tag.go": {Data: []byte("//go:build linux && !go1.26\n\npackage " +
		"low\n\nimport _ \"unsafe\"\n\n//go:linkname a b\n")},
	"high/high.go": {Data: []byte("package high // FIX" + "ME\n\nimport (\n\t_ " +
		"\"example.com/m/low\"\n\t_ \"golang.org/x/sys/unix\"\n\t_ \"example.com/other\"\n)\n")},
	"stray/stray.go":      {Data: []byte("// Package stray is nowhere.\npackage stray\n")},
	"stray/stray_test.go": {Data: []byte("package stray\n\nfunc Example() {}\n")},
	"cmd/go.mod":          {Data: []byte("module example.com/m/cmd\n")},
	"cmd/tool/main.go": {Data: []byte("// Command tool is a program.\npackage " +
		"main\n\nimport _ \"example.com/m/high\"\n")},
	"bench/go.mod":   {Data: []byte("module example.com/m/bench\n")},
	"bench/bench.go": {Data: []byte("package bench\n\nimport _ \"example.com/anything\"\n")},
	"docs/MORE.md": {Data: []byte("[table](ARCHITECTURE.md#m), [gone](../GONE.md), " +
		"[out](https://example.com/x), `f[T](n)`, `low.ExampleX`, `low.TestGone`, `low/low.go`, " +
		"`low/gone.s`\n```go\nasm.Getg()\n```\n")},
	"low/testdata/ignored.go": {Data: []byte("no Go at all")},
	"cmd/wordy/deep/main.go":  {Data: []byte(sampleWords)},
	"cmd/wordy/wordy.s":       {Data: []byte("\tNOP\n// NOP tells somebody\n")},

	"a/doc.go":              {Data: []byte("// Package a is\n//\n//\tnetco.Go(f)\npackage a\n")},
	"a/a.go":                {Data: []byte(sampleCalls)},
	"a/a_test.go":           {Data: []byte(sampleCalls + "func Example() {}\n")},
	"a/testdata/b.go":       {Data: []byte(sampleCalls)},
	"a/example_test.go":     {Data: []byte(sampleStarts)},
	"a/b_example_x_test.go": {Data: []byte(sampleStarts)},
	"a/x_test.go":           {Data: []byte(sampleStarts)},
	"cmd/a/doc.go":          {Data: []byte("// Command a is a program.\npackage main\n")},
	"cmd/a/main.go":         {Data: []byte(sampleStarts)},
	"cmd/a/calls.go":        {Data: []byte(sampleCalls)},
	"README.md": {Data: []byte("\tnetco.Go(f)\n`netco.Go(f)` starts " +
		"f:\n+\tnetco.Go(f)\n")},
	"examples/go.mod":  {Data: []byte("module example.com/m/examples\n")},
	"examples/main.go": {Data: []byte(sampleStarts)},
	"examples/asm.go":  {Data: []byte("package main\n\nimport _ \"example.com/m/asm\"\n")},
	"interop/go.mod":   {Data: []byte("module example.com/m/interop\n")},
	"interop/x.go":     {Data: []byte("package x\n\nimport _ \"example.com/m/timer\"\n")},
}

// sampleCalls makes system calls, and sampleStarts starts coroutines.
const (
	sampleCalls = "package a\n\nfunc (x *T[K]) listed() { unix.Fstat(1, nil) }\n\nvar v = " +
		"syscall.Close(1)\n\n" +
		"func f() error {\n\tunix.Socket(1, 2, 3)\n\treturn sysx.CloseFD(unix.CmsgSpace(1))\n}\n"
	sampleStarts = "package main\n\nfunc main() {\n\tnetco.Go(f)\n\tif _, err := " +
		"netco.GoWith(netco.Spawn{}); err != nil {\n\t}\n\tx.s.GoWith(sp)\n\tgroup.Go(f)\n}\n"
)

// sampleWords breaks the rules of wording: in a comment that is too wide, one
// after code, an identifier, and a "who" that is a noun. The rest is allowed.
const sampleWords = `// Command deep has a comment that is wider than it may be, if only by one column.
package main

//go:generate a-directive cannot be wrapped and so may be as wide as it is without any limit
var nobodyWaits = "a string may say told" // wider than a comment alone
var x = 1                                                                  // but not as wide as this
// X is for the caller, who waits. Who wakes it knows. See
// https://example.com/a/page/whose/address/is/so/long/that/it/does/not/fit
var wide = 1_000_000_000_000 + 1_000_000_000_000 + 1_000_000_000_000 + 1_000_000_000_000 + 10_000_000
` + "var raw = `a raw string may be as wide as it is, because a new line in it would be one of its text`\n"

const samplePage = "# M\n" + tableBegin + `
| folder | holds | may import |
|---|---|---|
| ` + "`low`" + ` | what is below | |
| ` + "`gone`" + ` | nothing | ` + "`low`" + ` |
| ` + "`a`" + ` | calls | |
| ` + "`high`" + ` | what is above | ` + "`low` `golang.org/x/sys`" + ` |
| ` + "`cmd/...`" + ` | programs | ` + "`high`" + ` |
` + tableEnd + "\n"

// TestTableRunsOneWay refuses tables that contradict themselves.
func TestTableRunsOneWay(t *testing.T) {
	for _, c := range []struct{ name, rows, want string }{
		{"an import of a later row", "| `a` | | `b` |\n| `b` | | |\n", "no row above it names"},
		{"an import of itself", "| `a` | | `a` |\n", "no row above it names"},
		{"a row twice", "| `a` | | |\n| `a` | | |\n", "two rows"},
		{"no rows", "| folder | holds | may import |\n", "no rows"},
	} {
		_, err := parseTable(tableBegin + "\n" + c.rows + tableEnd)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := parseTable("| `a` | | |"); err == nil {
		t.Error("a page without the marks: no error")
	}
}
