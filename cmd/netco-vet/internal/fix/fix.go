// Package fix makes changes of source that compile together. What is made is
// type-checked in memory, with all packages that it may concern; changes that
// lead to errors are left, with the compiler's words, until the rest compiles.
package fix

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/imports"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

// Fix is a change of some files that is made as a whole or not at all.
type Fix struct {
	Pkg   *packages.Package
	Edits map[string][]*edit.Edit // by file
	Why   string                  // it is left, or ""
}

// New returns the fix that edits make in a package.
func New(pkg *packages.Package, edits []analysis.TextEdit) *Fix {
	f := &Fix{Pkg: pkg, Edits: map[string][]*edit.Edit{}}
	for _, e := range edits {
		at := pkg.Fset.PositionFor(e.Pos, false)
		end := at
		if e.End.IsValid() {
			end = pkg.Fset.PositionFor(e.End, false)
		}
		f.Edits[at.Filename] = append(f.Edits[at.Filename],
			&edit.Edit{From: at.Offset, To: end.Offset, Text: string(e.NewText)})
	}
	return f
}

// Leave leaves a fix. The first reason counts.
func (f *Fix) Leave(why string) {
	if f.Why == "" {
		f.Why = why
	}
}

// Blame returns why a mistake is a fix's, or "".
type Blame func(*Fix, load.Mistake) string

// Trial makes fixes and finds out whether they compile.
type Trial struct {
	Load   func(overlay map[string][]byte) ([]*packages.Package, error)
	Known  map[string]bool        // the errors before anything is fixed
	Files  map[string]edit.Change // those that are changed
	Blame  []Blame                // for mistakes on lines that no fix has changed
	Spread func()                 // leaves what goes with what is left; or nil

	unused map[string][]string // imports that are to go, by file
}

// Make makes those of the fixes that compile together, and returns them, with
// the packages as they are then. The others have a reason. Of two that change
// one place the later one is left out, for the reason given, which may be none.
func (t *Trial) Make(
	fixes []*Fix, overlap string,
) (made []*Fix, pkgs []*packages.Package, err error) {
	taken := map[string][]*edit.Edit{}
	for _, f := range fixes {
		switch {
		case f.Why != "":
		case f.overlaps(taken):
			f.Why = overlap
		default:
			made = append(made, f)
			for name, edits := range f.Edits {
				taken[name] = append(taken[name], edits...)
			}
		}
	}
	before := t.Files
	for t.unused = map[string][]string{}; ; {
		if t.Spread != nil {
			t.Spread()
		}
		made = slices.DeleteFunc(made, func(f *Fix) bool { return f.Why != "" })
		var errs []load.Mistake
		name, err := t.apply(before, made)
		switch {
		case name != "":
			errs = []load.Mistake{{File: name, Text: err.Error()}}
		case err != nil:
			return nil, nil, err
		default:
			overlay := map[string][]byte{}
			for name, c := range t.Files {
				overlay[name] = c.After
			}
			if pkgs, err = t.Load(overlay); err != nil {
				return nil, nil, err
			}
			if errs = load.Mistakes(pkgs, maps.Clone(t.Known)); len(errs) == 0 {
				return made, pkgs, nil
			}
		}
		if len(made) == 0 {
			return nil, nil, fmt.Errorf("%s:%d: %s", errs[0].File, errs[0].Line, errs[0].Text)
		}
		if !t.dropImports(errs, made) {
			t.withhold(made, errs)
			clear(t.unused)
		}
	}
}

// apply makes fixes in files as they were before. If it cannot make those of a
// file, name is that.
func (t *Trial) apply(before map[string]edit.Change, fixes []*Fix) (name string, err error) {
	t.Files = map[string]edit.Change{}
	maps.Copy(t.Files, before)
	byFile := map[string][]*edit.Edit{}
	for _, f := range fixes {
		for name, edits := range f.Edits {
			byFile[name] = append(byFile[name], edits...)
		}
	}
	for name, edits := range byFile {
		c, ok := before[name]
		if !ok {
			if c.Before, err = os.ReadFile(name); err != nil {
				return "", err
			}
			c.Name, c.After = name, c.Before
		}
		text, err := edit.Apply(c.After, edits)
		if err == nil {
			text, err = edit.ChangeImports(text, edits, func(text []byte) ([]byte, error) {
				return regroup(text, importsOf(c.After), t.unused[name])
			})
		}
		if now, no := order(c.After); err == nil && no == nil && bytes.Equal(now, c.After) {
			text, err = edit.ChangeImports(text, edits, order)
		}
		if err != nil {
			return name, err
		}
		c.After = text
		t.Files[name] = c
	}
	return "", nil
}

// order sorts and groups imports, as goimports does. What is so stays so.
func order(src []byte) ([]byte, error) {
	return imports.Process("", src, &imports.Options{
		FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8,
	})
}

var unusedImport = regexp.MustCompile(`^"([^"]+)" imported (as \S+ )?and not used`)

// dropImports notes the imports that fixes have left without a use, if there are
// any that are not noted yet.
func (t *Trial) dropImports(errs []load.Mistake, fixes []*Fix) (more bool) {
	for _, e := range errs {
		found := unusedImport.FindStringSubmatch(e.Text)
		if found == nil || slices.Contains(t.unused[e.File], found[1]) ||
			!slices.ContainsFunc(fixes, func(f *Fix) bool { return f.Changes(e.File) }) {
			continue
		}
		t.unused[e.File], more = append(t.unused[e.File], found[1]), true
	}
	return more
}

// Changes reports whether a fix changes a file.
func (f *Fix) Changes(name string) bool { return len(f.Edits[name]) > 0 }

// regroup puts the imports of a text that had does not have where others of
// their kind are, and removes the unused ones. One with a comment stays there.
func regroup(text []byte, had map[string]bool, unused []string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Clone(f.Imports) {
		path, name := importPath(spec), ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch {
		case slices.Contains(unused, path):
			astutil.DeleteNamedImport(fset, f, name, path)
		case !had[path] && spec.Doc == nil && spec.Comment == nil && len(f.Imports) > 1:
			astutil.DeleteNamedImport(fset, f, name, path)
			astutil.AddNamedImport(fset, f, name, path)
		}
	}
	var out bytes.Buffer
	err = format.Node(&out, fset, f)
	return out.Bytes(), err
}

func importPath(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}

// importsOf are the paths of a text's imports.
func importsOf(text []byte) map[string]bool {
	paths := map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err == nil {
		for _, spec := range f.Imports {
			paths[importPath(spec)] = true
		}
	}
	return paths
}

// Would is the reason for leaving what leads to a mistake.
func Would(m load.Mistake) string {
	return "it would not compile: " + strings.Join(strings.Fields(m.Text), " ")
}

// withhold leaves those of the fixes that have made errors: those that stand on
// the lines of the errors; if there are none, those that Blame names, those of
// the packages, or all.
func (t *Trial) withhold(fixes []*Fix, errs []load.Mistake) {
	onLine := func(f *Fix, m load.Mistake) bool {
		return slices.ContainsFunc(f.Edits[m.File], func(e *edit.Edit) bool {
			return e.Touches(t.Files[m.File].After, m.Line)
		})
	}
	inPackage := func(f *Fix, m load.Mistake) bool {
		return m.Pkg != nil && f.Pkg.PkgPath == m.Pkg.PkgPath
	}
	all := func(*Fix, load.Mistake) bool { return true }
	for _, blame := range slices.Concat([]Blame{If(onLine)}, t.Blame,
		[]Blame{If(inPackage), If(all)}) {
		some := false
		for _, f := range fixes {
			for _, m := range errs {
				if why := blame(f, m); why != "" {
					f.Leave(why)
					some = true
				}
			}
		}
		if some {
			return
		}
	}
}

// If blames those for which is is true.
func If(is func(*Fix, load.Mistake) bool) Blame {
	return func(f *Fix, m load.Mistake) string {
		if is(f, m) {
			return Would(m)
		}
		return ""
	}
}

// overlaps reports whether a fix changes what others do, in another way.
func (f *Fix) overlaps(taken map[string][]*edit.Edit) bool {
	for name, edits := range f.Edits {
		for _, e := range edits {
			if slices.ContainsFunc(taken[name], func(x *edit.Edit) bool { return conflict(e, x) }) {
				return true
			}
		}
	}
	return false
}

func conflict(e, x *edit.Edit) bool {
	switch {
	case x.From == e.From && x.To == e.To && x.Text == e.Text:
		return false
	case x.From == x.To && x.From == e.From && e.From == e.To:
		return !edit.IsImport(x.Text) || !edit.IsImport(e.Text)
	}
	return e.From < x.To && x.From < e.To || e.From == x.From
}
