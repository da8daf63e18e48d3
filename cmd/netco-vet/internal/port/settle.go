package port

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// settle makes the changes that compile together. It returns the packages as
// they are then.
func (p *port) settle() ([]*packages.Package, error) {
	for {
		p.spread()
		if err := p.apply(); err != nil {
			return nil, err
		}
		pkgs, err := p.load()
		if err != nil {
			return nil, err
		}
		found := mistakes(pkgs, maps.Clone(p.known))
		if len(found) == 0 {
			return pkgs, p.conclude()
		}
		if !p.blame(found) {
			m := found[0]
			return nil, fmt.Errorf("the port does not compile: %s:%d: %s", m.file, m.line, m.text)
		}
	}
}

// conclude notes the changes to write: none if no file has any.
func (p *port) conclude() (err error) {
	if len(p.made) == 0 {
		return nil
	}
	p.changes, err = p.modChanges()
	for _, name := range slices.Sorted(maps.Keys(p.made)) {
		p.changes = append(p.changes, p.made[name])
	}
	return err
}

// apply makes what is not left.
func (p *port) apply() error {
	p.made = map[string]change{}
	for name, f := range p.files {
		edits := f.edits()
		if len(edits) == 0 {
			continue
		}
		before, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		after, err := apply(before, edits)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.made[name] = change{name, before, after}
	}
	return nil
}

// spread makes the files stay on package net that exchange its types with files
// that do.
func (p *port) spread() {
	names := slices.Sorted(maps.Keys(p.files))
	for changed := true; changed; {
		changed = false
		for _, name := range names {
			f := p.files[name]
			for _, from := range slices.Sorted(maps.Keys(f.shared)) {
				of := p.files[from]
				if of == nil || len(of.imports) == 0 && !of.passes ||
					len(f.imports) == 0 && !f.passes || f.stays() == of.stays() {
					continue
				}
				stays, goes := f, of
				if of.stays() {
					stays, goes = of, f
				}
				goes.leave("it shares " + f.shared[from] + " with " + p.relative(stays.name))
				changed = true
			}
		}
	}
	for _, f := range p.files {
		if f.left == "" || len(f.imports) == 0 {
			continue
		}
		for _, s := range f.statements {
			s.leave("the file stays on package net")
		}
	}
}

// blame leaves what may have led to mistakes: the changes in their files; if
// there are none, the imports of files whose declarations these use; or else
// what is changed in their packages, or anywhere. It reports whether there was
// anything to leave.
func (p *port) blame(found []mistake) (some bool) {
	for _, reason := range []func(*file, mistake) string{
		func(f *file, m mistake) string { return m.leads(f.name == m.file) },
		p.uses,
		func(f *file, m mistake) string { return m.leads(f.pkg == m.pkg) },
		func(_ *file, m mistake) string { return m.leads(true) },
	} {
		for name := range p.made {
			f := p.files[name]
			for _, m := range found {
				if why := reason(f, m); why != "" {
					some = true
					f.leave(why)
					for _, s := range f.statements {
						s.leave(why)
					}
				}
			}
		}
		if some {
			return true
		}
	}
	return false
}

// uses returns why f is left for a mistake in a file that uses it: that file
// stays as it is, and hands on what stays.
func (p *port) uses(f *file, m mistake) string {
	of := p.files[m.file]
	if of == nil || of.shared[f.name] == "" || len(f.imports) == 0 {
		return ""
	}
	of.passes = true
	return "it shares " + of.shared[f.name] + " with " + p.relative(of.name)
}

// mistake is an error of a package.
type mistake struct {
	pkg, file string // file is "" if it is not known
	line      int
	text      string
}

// leads is the reason for leaving what has led to a mistake, if it has.
func (m mistake) leads(has bool) string {
	if !has {
		return ""
	}
	return "it would not compile: " + strings.Join(strings.Fields(m.text), " ")
}

// mistakes are the errors of packages and of all that they depend on, but for
// those that known has; it has them all then.
func mistakes(pkgs []*packages.Package, known map[string]bool) (all []mistake) {
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		for _, e := range pkg.Errors {
			if key := pkg.ID + ": " + e.Msg; !known[key] {
				known[key] = true
				m := mistake{pkg: pkg.PkgPath, text: e.Msg}
				if parts := strings.Split(e.Pos, ":"); len(parts) > 1 {
					m.file = parts[0]
					m.line, _ = strconv.Atoi(parts[1])
				}
				all = append(all, m)
			}
		}
	})
	return all
}

// leave leaves a file's imports. The first reason counts.
func (f *file) leave(why string) { f.left = cmp.Or(f.left, why) }

// leave leaves a statement. The first reason counts.
func (s *statement) leave(why string) { s.left = cmp.Or(s.left, why) }
