package layout

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/netco-go/netco/internal/testenv"
)

// root is the module's, seen from this folder.
const root = "../.."

var loaded struct {
	tree  *tree
	table *table
}

// read loads the source and the table that it must follow, once.
func read(t *testing.T) (fs.FS, *tree, *table) {
	t.Helper()
	fsys := os.DirFS(root)
	if loaded.tree != nil {
		return fsys, loaded.tree, loaded.table
	}
	page := testenv.Must(fs.ReadFile(fsys, tableFile))
	tab := testenv.Must(parseTable(string(page)))
	loaded.tree, loaded.table = load(t, fsys, tab), tab
	return fsys, loaded.tree, loaded.table
}

func report(t *testing.T, wrong []string) {
	t.Helper()
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestImports holds the imports of the code against the table in
// docs/ARCHITECTURE.md.
func TestImports(t *testing.T) {
	_, tr, tab := read(t)
	report(t, importsFollow(tr, tab))
	report(t, rowsLive(tr, tab))
}

func TestRequirements(t *testing.T) {
	fsys, _, _ := read(t)
	report(t, requires(goMod(t, fsys)))
}

func TestUnsafeIsNamed(t *testing.T) {
	_, tr, _ := read(t)
	report(t, unsafeNamed(tr))
}

func TestNothingIsLeftToDo(t *testing.T) {
	_, tr, _ := read(t)
	report(t, finished(tr))
}

func TestEveryPackageIsDocumented(t *testing.T) {
	_, tr, _ := read(t)
	report(t, documented(tr))
}

func TestPagesNameWhatExists(t *testing.T) {
	fsys, tr, _ := read(t)
	report(t, mentionsExist(fsys, tr))
}

func TestGoReleasesAreFenced(t *testing.T) {
	_, tr, _ := read(t)
	report(t, releasesFenced(tr))
}

// sample is a small module that breaks each rule once.
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
		"`low/gone.s`\n")},
	"low/testdata/ignored.go": {Data: []byte("no Go at all")},
	"cmd/wordy/deep/main.go":  {Data: []byte(sampleWords)},
	"cmd/wordy/wordy.s":       {Data: []byte("\tNOP\n// NOP tells somebody\n")},
}

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
| ` + "`high`" + ` | what is above | ` + "`low` `golang.org/x/sys`" + ` |
| ` + "`cmd/...`" + ` | programs | ` + "`high`" + ` |
` + tableEnd + "\n"

// TestRules holds each rule against the sample.
func TestRules(t *testing.T) {
	tab := testenv.Must(parseTable(samplePage))
	tr := load(t, sample, tab)
	for _, c := range []struct {
		rule string
		got  []string
		want []string // what each line must contain, in order
	}{
		{"importsFollow", importsFollow(tr, tab), []string{
			`high/high.go imports "example.com/other"`,
			`low/low.go imports "example.com/m/high"`,
			`folder "stray" has no row`,
			`folder "stray" has no row`,
		}},
		{"rowsLive", rowsLive(tr, tab), []string{`row for "gone"`}},
		{"requires", requires(goMod(t, sample)), []string{"go.mod requires example.com/other"}},
		{"unsafeNamed", unsafeNamed(tr), []string{"low/tag.go"}},
		{"finished", finished(tr), []string{"high/high.go:1"}},
		{"documented", documented(tr), []string{"high: package high has no package comment",
			"high: public package high has no func Example"}},
		{"mentionsExist", mentionsExist(sample, tr), []string{"docs/MORE.md links to ../GONE.md",
			"docs/MORE.md names low.TestGone", "docs/MORE.md names low/gone.s"}},
		{"plain", plain(tr, []string{"high", "low"}), []string{
			"cmd/wordy/deep/main.go:1: 82 columns, want 80",
			`cmd/wordy/deep/main.go:5: "nobody"`,
			"cmd/wordy/deep/main.go:6: 101 columns, want 100",
			`cmd/wordy/deep/main.go:7: ". Who "`,
			`cmd/wordy/wordy.s:2: "somebody"`,
			`cmd/wordy/wordy.s:2: "tells"`,
		}},
		{"narrow", narrow(tr, []string{"high"}), []string{
			"cmd/wordy/deep/main.go:9: 101 columns of code, want 100",
		}},
		{"narrow of none", narrow(tr, []string{"cmd/wordy"}), nil},
		{"short", short(tr), []string{"low/low_test.go: T.tooLong has 61 lines, want 60"}},
		{"releasesFenced", releasesFenced(tr), []string{"low/new_go127.go is named", "low/tag.go " +
			"is built by Go release (go1.26)", "low/tag.go has a go:linkname"}},
	} {
		if !slices.EqualFunc(c.got, c.want, strings.Contains) {
			t.Errorf("%s: got\n\t%s\nwant\n\t%s", c.rule, strings.Join(c.got, "\n\t"),
				strings.Join(c.want, "\n\t"))
		}
	}
}

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
