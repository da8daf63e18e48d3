package check

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

// apply returns the files with fixes made. If it cannot make those of a file,
// name is that.
func (p *repair) apply(
	before map[string]edit.Change, chosen []*candidate, unused map[string][]string,
) (after map[string]edit.Change, name string, err error) {
	after = maps.Clone(before)
	byFile := map[string][]*edit.Edit{}
	for _, c := range chosen {
		for name, edits := range c.edits {
			byFile[name] = append(byFile[name], edits...)
		}
	}
	for name, edits := range byFile {
		src, err := p.read(name)
		if err != nil {
			return nil, "", err
		}
		text, err := edit.Apply(src, edits)
		if err == nil && len(unused[name]) > 0 {
			text, err = edit.ChangeImports(text, edits, without(unused[name]))
		}
		if err != nil {
			return nil, name, err
		}
		f := edit.Change{Name: name, Before: src, After: text}
		if has, ok := before[name]; ok {
			f.Before = has.Before
		}
		after[name] = f
	}
	return after, "", nil
}

var unusedImport = regexp.MustCompile(`^"([^"]+)" imported (as \S+ )?and not used`)

// dropImports notes the imports that fixes have left without a use, if there are
// any that are not noted yet.
func (p *repair) dropImports(
	errs []load.Mistake, chosen []*candidate, unused map[string][]string,
) (more bool) {
	for _, e := range errs {
		found := unusedImport.FindStringSubmatch(e.Text)
		if found == nil || slices.Contains(unused[e.File], found[1]) ||
			!slices.ContainsFunc(chosen, func(c *candidate) bool { return c.changes(e.File) }) {
			continue
		}
		unused[e.File], more = append(unused[e.File], found[1]), true
	}
	return more
}

func (c *candidate) changes(name string) bool { return len(c.edits[name]) > 0 }

// without removes the imports of paths.
func without(paths []string) func(*token.FileSet, *ast.File) {
	return func(fset *token.FileSet, f *ast.File) {
		for _, spec := range slices.Clone(f.Imports) {
			if path, _ := strconv.Unquote(spec.Path.Value); slices.Contains(paths, path) {
				name := ""
				if spec.Name != nil {
					name = spec.Name.Name
				}
				astutil.DeleteNamedImport(fset, f, name, path)
			}
		}
	}
}

// withhold takes those of the fixes away that have made errors: those that
// stand on the lines of the errors; if there are none, those of the files, of
// the packages, or all.
func (p *repair) withhold(chosen []*candidate, errs []load.Mistake) (rest []*candidate) {
	blamed := map[*candidate]string{}
	for _, is := range []func(*candidate, load.Mistake) bool{
		p.onLine,
		func(c *candidate, m load.Mistake) bool { return c.changes(m.File) },
		func(c *candidate, m load.Mistake) bool { return m.Pkg != nil && c.pkg.PkgPath == m.Pkg.PkgPath },
		func(*candidate, load.Mistake) bool { return true },
	} {
		for _, c := range chosen {
			for _, m := range errs {
				if blamed[c] == "" && is(c, m) {
					blamed[c] = "it would not compile: " + m.Text
				}
			}
		}
		if len(blamed) > 0 {
			break
		}
	}
	for _, c := range chosen {
		if why := blamed[c]; why != "" {
			p.withheld[c.key] = why
		} else {
			rest = append(rest, c)
		}
	}
	return rest
}

// onLine reports whether a fix has changed the line of a mistake.
func (p *repair) onLine(c *candidate, m load.Mistake) bool {
	return slices.ContainsFunc(c.edits[m.File], func(e *edit.Edit) bool {
		return e.Touches(p.tried[m.File].After, m.Line)
	})
}
