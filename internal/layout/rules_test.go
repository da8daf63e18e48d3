package layout

import (
	"fmt"
	"go/build/constraint"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A rule returns what is wrong, one line each, naming the file and what to do.

// local returns the folder of an import of this module.
func (tr *tree) local(pkg string) (folder string, ok bool) {
	if pkg == tr.module {
		return ".", true
	}
	return strings.CutPrefix(pkg, tr.module+"/")
}

// isStd reports whether an import is of the standard library.
func isStd(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

// importsFollow: code imports what the row of its folder allows. Tests may
// import any folder, because they are built into nothing, but no other modules
// than their folder.
func importsFollow(s *source) (wrong []string) {
	t := s.tab
	for _, f := range s.files {
		r, ok := t.rowOf(f.dir)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: folder %q has no row in the table of %s", f.path,
				f.dir, tableFile))
			continue
		}
		for _, pkg := range f.imports {
			folder, local := s.local(pkg)
			switch {
			case local && (f.isTest() || r.allows(t, folder)), isStd(pkg) && !local, !local &&
				r.allowsModule(pkg):
			case local:
				wrong = append(wrong, fmt.Sprintf("%s imports %q: the row of %q in the table of "+
					"%s does not allow %q",
					f.path, pkg, r.folder, tableFile, folder))
			default:
				wrong = append(wrong, fmt.Sprintf("%s imports %q: no module that the row of %q "+
					"in the table of %s names",
					f.path, pkg, r.folder, tableFile))
			}
		}
	}
	return wrong
}

// rowsLive: every row of the table is about a folder that exists.
func rowsLive(s *source) (wrong []string) {
	for _, r := range s.tab.rows {
		prefix, deep := strings.CutSuffix(r.folder, "/...")
		if !slices.ContainsFunc(s.files, func(f *goFile) bool {
			return f.dir == r.folder || deep && strings.HasPrefix(f.dir, prefix+"/")
		}) {
			wrong = append(wrong, fmt.Sprintf("%s: the table has a row for %q, where there is no "+
				"Go file", tableFile, r.folder))
		}
	}
	return wrong
}

// requirements are the modules that go.mod may name: what users of netco get
// into their dependency graph.
var requirements = []string{
	"golang.org/x/sys", "go.uber.org/zap", "github.com/prometheus/client_golang",

	// The signature of client_golang's Metric, which package metrics
	// implements, names its type.
	"github.com/prometheus/client_model",

	// What those bring.
	"go.uber.org/multierr",
	"github.com/beorn7/perks", "github.com/cespare/xxhash/v2", "github.com/kylelemons/godebug",
	"github.com/munnerz/goautoneg", "github.com/prometheus/common",
	"github.com/prometheus/procfs", "google.golang.org/protobuf",
}

// requires: go.mod names no others.
func requires(s *source) (wrong []string) {
	for _, line := range s.goMod {
		rest, ok := strings.CutPrefix(line, "require ")
		if !ok {
			continue
		}
		if name := strings.Fields(rest)[0]; !slices.Contains(requirements, name) {
			wrong = append(wrong, fmt.Sprintf("go.mod requires %s; only %s are agreed on", name,
				strings.Join(requirements, ", ")))
		}
	}
	return wrong
}

// unsafeNamed: a file that imports unsafe says so in its name: unsafe.go has
// the conversions of a package whose other files need them. In race builds the
// detector's functions want unsafe.Pointer, hence the pair _race.go and
// _norace.go.
func unsafeNamed(s *source) (wrong []string) {
	for _, f := range s.files {
		if slices.Contains(f.imports, "unsafe") &&
			!endsIn(f.path, "_unsafe.go", "/unsafe.go", "_race.go", "_norace.go", "_test.go") {
			wrong = append(wrong, fmt.Sprintf("%s imports unsafe: its name must end in _unsafe.go",
				f.path))
		}
	}
	return wrong
}

func endsIn(text string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool {
		return strings.HasSuffix(text, suffix)
	})
}

var marks = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}

var unfinished = regexp.MustCompile(`\b(` + strings.Join(marks, "|") + `)\b`)

// finished: no file says that something in it is still to be done.
func finished(s *source) (wrong []string) {
	for p, text := range s.texts {
		if !slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) }) {
			continue // without a look at each line, which takes long
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if m := unfinished.FindString(line); m != "" {
				wrong = append(wrong, fmt.Sprintf("%s:%d: a %s: do it, or say in prose what is "+
					"and why", p, n, m))
			}
		}
	}
	return wrong
}

// documented: every package has a comment that begins as go doc wants it, and
// every public one an example.
func documented(s *source) (wrong []string) {
	type facts struct {
		doc, example, code bool
		pkg                string
	}
	dirs := map[string]*facts{}
	for _, f := range s.files {
		d := dirs[f.dir]
		if d == nil {
			d = new(facts)
			dirs[f.dir] = d
		}
		d.example = d.example || f.hasExample()
		if f.isTest() {
			continue
		}
		d.code, d.pkg = true, f.pkg
		start := "Package " + f.pkg + " "
		if f.pkg == "main" {
			start = "Command " + path.Base(f.dir) + " "
		}
		d.doc = d.doc || strings.HasPrefix(f.doc, start)
	}
	for dir, d := range dirs {
		if !d.code {
			continue
		}
		if !d.doc {
			wrong = append(wrong, fmt.Sprintf("%s: package %s has no package comment that begins "+
				"with %q",
				dir, d.pkg, map[bool]string{true: "Command", false: "Package"}[d.pkg == "main"]+
					" <name>"))
		}
		if public(dir, d.pkg) && !d.example {
			wrong = append(wrong, fmt.Sprintf("%s: public package %s has no func Example... in "+
				"its tests", dir, d.pkg))
		}
	}
	return wrong
}

// public reports whether a package is for users to import.
func public(dir, pkg string) bool {
	return pkg != "main" && !slices.Contains(strings.Split(dir, "/"), "internal")
}

var (
	testMention = regexp.MustCompile(
		"`([a-z][a-z0-9/]*)\\.((?:Test|Benchmark|Fuzz|Example)[A-Za-z0-9_]*)`")
	fileMention = regexp.MustCompile("`([a-z][a-z0-9_-]*/[a-z0-9_/-]+\\.(?:go|s))`")
	nameMention = regexp.MustCompile("`netco\\.([A-Z][A-Za-z0-9]*)[`({]")
	docLink     = regexp.MustCompile(`(?m)^\s*//.*\W\[([A-Z][A-Za-z0-9]*)\]`)
	codeText    = regexp.MustCompile("(?s)```.*?```|`[^`]*`") // has no links
	link        = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
)

// mentionsExist: a test or benchmark that a page names as `package.Name`
// exists, and so do the files that it names as `folder/file.go` or links to,
// the names of package netco, and those that its comments link to.
func mentionsExist(s *source) (wrong []string) {
	for p, text := range s.texts {
		names := docLink
		if path.Ext(p) == ".md" {
			names = nameMention
		} else if path.Dir(p) != "." {
			continue
		}
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			declared := regexp.MustCompile(`(?m)^(?:func |type |var |\t)` + m[1] + `\b`)
			if !slices.ContainsFunc(s.files, func(f *goFile) bool {
				return f.dir == "." && declared.MatchString(s.texts[f.path])
			}) {
				wrong = append(wrong, fmt.Sprintf("%s names netco.%s, which is not there", p, m[1]))
			}
		}
		if names == docLink {
			continue
		}
		for _, m := range testMention.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(s.files, func(f *goFile) bool {
				return f.dir == m[1] && f.isTest() && slices.Contains(f.funcs, m[2])
			}) {
				wrong = append(wrong, fmt.Sprintf("%s names %s.%s, which is not in the tests of %s",
					p, m[1], m[2], m[1]))
			}
		}
		for _, m := range fileMention.FindAllStringSubmatch(text, -1) {
			if _, ok := s.texts[m[1]]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s names %s, which is not there", p, m[1]))
			}
		}
		for _, m := range link.FindAllStringSubmatch(codeText.ReplaceAllString(text, ""), -1) {
			if _, err := fs.Stat(s.fsys, path.Join(path.Dir(p), m[1])); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s links to %s, which is not there", p, m[1]))
			}
		}
	}
	return wrong
}

// goVersionDir is where everything that depends on the Go release lives.
const goVersionDir = "internal/goruntime"

var (
	releaseTag  = regexp.MustCompile(`^go1\.\d+$`)
	releaseFile = regexp.MustCompile(`_go1?\d+(_[a-z0-9]+)*\.(go|s)$`)
)

// releasesFenced: build tags and file names for Go releases, and go:linkname,
// stand in goVersionDir only. A package that has the names of one of the
// standard library has those that came later in a file names_go1NN.go.
func releasesFenced(s *source) (wrong []string) {
	for _, f := range s.files {
		if f.dir == goVersionDir || strings.HasPrefix(path.Base(f.path), "names_go1") {
			continue
		}
		if tag := releaseTagOf(f.tags); tag != "" {
			wrong = append(wrong, fmt.Sprintf("%s is built by Go release (%s): that belongs in %s",
				f.path, tag, goVersionDir))
		}
		if releaseFile.MatchString(f.path) {
			wrong = append(wrong, fmt.Sprintf("%s is named for a Go release: that belongs in %s",
				f.path, goVersionDir))
		}
		if f.links {
			wrong = append(wrong, fmt.Sprintf("%s has a go:linkname: that belongs in %s", f.path,
				goVersionDir))
		}
	}
	return wrong
}

// releaseTagOf returns a tag for a Go release that the constraint names, or "".
func releaseTagOf(x constraint.Expr) string {
	switch x := x.(type) {
	case *constraint.TagExpr:
		if releaseTag.MatchString(x.Tag) {
			return x.Tag
		}
	case *constraint.NotExpr:
		return releaseTagOf(x.X)
	case *constraint.AndExpr:
		return releaseTagOf(x.X) + releaseTagOf(x.Y)
	case *constraint.OrExpr:
		return releaseTagOf(x.X) + releaseTagOf(x.Y)
	}
	return ""
}

// screenLines is how long a function of a test may be: a screen.
const screenLines = 60

// short: no function of a test is longer than a screen.
func short(s *source) (wrong []string) {
	for _, f := range s.files {
		if !f.isTest() {
			continue
		}
		for name, lines := range f.lines {
			if lines > screenLines {
				wrong = append(wrong, fmt.Sprintf("%s: %s has %d lines, want %d at most", f.path,
					name, lines, screenLines))
			}
		}
	}
	return wrong
}
