package check

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
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

// mistake is an error of the compiler's.
type mistake struct {
	pkg  *packages.Package
	name string
	line int
	text string
}

// newErrors are the errors of packages that compiled before.
func (p *repair) newErrors(pkgs []*packages.Package) (all []mistake) {
	for _, pkg := range pkgs {
		if p.broken[pkg.ID] || !isBroken(pkg) {
			continue
		}
		if len(pkg.Errors) == 0 {
			text := "a package that it depends on does not compile"
			if of := cause(pkg); len(of.Errors) > 0 {
				text = firstError(of)
			}
			all = append(all, mistake{pkg: pkg, text: text})
		}
		for _, e := range pkg.Errors {
			m := mistake{pkg: pkg, text: e.Error()}
			if parts := strings.Split(e.Pos, ":"); len(parts) > 1 {
				m.name, m.text = parts[0], e.Msg
				m.line, _ = strconv.Atoi(parts[1])
			}
			all = append(all, m)
		}
	}
	return all
}

var unusedImport = regexp.MustCompile(`^"([^"]+)" imported (as \S+ )?and not used`)

// dropImports notes the imports that fixes have left without a use, if there are
// any that are not noted yet.
func (p *repair) dropImports(
	errs []mistake, chosen []*candidate, unused map[string][]string,
) (more bool) {
	for _, e := range errs {
		found := unusedImport.FindStringSubmatch(e.text)
		if found == nil || slices.Contains(unused[e.name], found[1]) ||
			!slices.ContainsFunc(chosen, func(c *candidate) bool { return c.changes(e.name) }) {
			continue
		}
		unused[e.name], more = append(unused[e.name], found[1]), true
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
func (p *repair) withhold(chosen []*candidate, errs []mistake) (rest []*candidate) {
	blamed := map[*candidate]string{}
	for _, is := range []func(*candidate, mistake) bool{
		p.onLine,
		func(c *candidate, m mistake) bool { return c.changes(m.name) },
		func(c *candidate, m mistake) bool { return m.pkg != nil && c.pkg.PkgPath == m.pkg.PkgPath },
		func(*candidate, mistake) bool { return true },
	} {
		for _, c := range chosen {
			for _, m := range errs {
				if blamed[c] == "" && is(c, m) {
					blamed[c] = "it would not compile: " + m.text
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
func (p *repair) onLine(c *candidate, m mistake) bool {
	return slices.ContainsFunc(c.edits[m.name], func(e *edit.Edit) bool {
		return e.Touches(p.tried[m.name].After, m.line)
	})
}
