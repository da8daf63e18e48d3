package check

import (
	"bytes"
	"errors"
	"go/ast"
	"go/format"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// apply returns the files with fixes made. If it cannot make those of a file,
// name is that.
func (p *repair) apply(
	before map[string]*source, pkgs []*packages.Package, chosen []*candidate,
	unused map[string][]string,
) (after map[string]*source, name string, err error) {
	after = maps.Clone(before)
	byFile := map[string][]*edit{}
	for _, c := range chosen {
		for i := range c.edits {
			e := &c.edits[i]
			byFile[e.name] = append(byFile[e.name], e)
		}
	}
	for name, edits := range byFile {
		src, err := p.read(name)
		if err != nil {
			return nil, "", err
		}
		for _, path := range unused[name] {
			if e := removal(pkgs, name, path, src); e != nil {
				edits = append(edits, e)
			}
		}
		text, err := merged(src, edits)
		if err != nil {
			return nil, name, err
		}
		f := &source{before: src, after: text}
		if has := before[name]; has != nil {
			f.before = has.before
		}
		after[name] = f
	}
	return after, "", nil
}

// merged makes edits, in their order where they have one place, and formats the
// result.
func merged(src []byte, edits []*edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b *edit) int { return a.from - b.from })
	var out bytes.Buffer
	at, dense, group := 0, 0, -1
	add := func(text []byte) {
		out.Write(text)
		dense += density(text)
	}
	done := map[edit]bool{}
	for _, e := range edits {
		same := edit{from: e.from, to: e.to, text: e.text}
		if done[same] && (e.from < e.to || isImport(e.text)) {
			e.begin, e.end = dense, dense
			continue // two fixes have it in common
		}
		done[same] = true
		if e.from < at {
			return nil, errors.New("edits overlap")
		}
		add(src[at:e.from])
		text := e.text
		if isImport(text) {
			if e.from == group && strings.HasPrefix(text, "\n\n") {
				text = text[1:] // it is of the group of the one before
			}
			group = e.from
		}
		e.begin = dense
		add([]byte(text))
		e.end, at = dense, e.to
	}
	add(src[at:])
	return format.Source(out.Bytes())
}

// density counts the bytes of a text that are no space.
func density(text []byte) (n int) {
	for _, b := range text {
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			n++
		}
	}
	return n
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

func (c *candidate) changes(name string) bool {
	return slices.ContainsFunc(c.edits, func(e edit) bool { return e.name == name })
}

// removal removes the import of path from a file.
func removal(pkgs []*packages.Package, name, path string, src []byte) *edit {
	for _, pkg := range pkgs {
		for _, f := range pkg.Syntax {
			file := pkg.Fset.File(f.FileStart)
			if file.Name() != name {
				continue
			}
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.IMPORT {
					continue
				}
				for _, spec := range g.Specs {
					if spec.(*ast.ImportSpec).Path.Value != strconv.Quote(path) {
						continue
					}
					var x ast.Node = spec
					if !g.Lparen.IsValid() {
						x = g
					}
					e := &edit{name: name, from: file.Offset(x.Pos()), to: file.Offset(x.End())}
					if lineEnd := e.to; lineEnd < len(src) && src[lineEnd] == '\n' && x == ast.Node(g) {
						e.to++
					}
					return e
				}
			}
		}
	}
	return nil
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
	text := p.tried[m.name]
	if text == nil {
		return false
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if m.line < 1 || m.line > len(lines) {
		return false
	}
	begin := density(bytes.Join(lines[:m.line-1], nil))
	end := begin + density(lines[m.line-1])
	return slices.ContainsFunc(c.edits, func(e edit) bool {
		if e.begin == e.end {
			return e.name == m.name && begin <= e.begin && e.begin <= end
		}
		return e.name == m.name && e.begin < end && begin < e.end
	})
}
