package port

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/fix"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

// settle makes the changes that compile. It returns the packages as they are
// then.
func (p *port) settle() ([]*packages.Package, error) {
	var fixes []*fix.Fix
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[name]
		if f.imports > 0 && !f.stays() {
			fixes = append(fixes, f.change)
		}
		for _, s := range f.statements {
			fixes = append(fixes, s.Fix)
		}
	}
	_, pkgs, err := p.trial.Make(fixes, "it stands within an argument of another one")
	if err != nil {
		return nil, fmt.Errorf("the port does not compile: %w", err)
	}
	if len(p.trial.Files) == 0 {
		return pkgs, nil
	}
	if p.changes, err = p.modChanges(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.trial.Files)) {
		p.changes = append(p.changes, p.trial.Files[name])
	}
	return pkgs, nil
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
				if of == nil || of.imports == 0 && !of.passes ||
					f.imports == 0 && !f.passes || f.stays() == of.stays() {
					continue
				}
				stays, goes := f, of
				if of.stays() {
					stays, goes = of, f
				}
				goes.change.Leave("it shares " + f.shared[from] + " with " + p.relative(stays.name))
				changed = true
			}
		}
	}
	for _, f := range p.files {
		if f.change.Why == "" || f.imports == 0 {
			continue
		}
		for _, s := range f.statements {
			s.Leave("the file stays on package net")
		}
	}
}

// imports blames the imports of the file that has a mistake.
func (p *port) imports(change *fix.Fix, m load.Mistake) string {
	if f := p.files[m.File]; f != nil && f.change == change {
		return fix.Would(m)
	}
	return ""
}

// uses blames the imports of the files that a file with a mistake uses: it
// stays as it is, and what it uses does, if some of it does.
func (p *port) uses(change *fix.Fix, m load.Mistake) string {
	f := p.files[m.File]
	if f == nil {
		return ""
	}
	for from := range f.shared {
		if of := p.files[from]; of != nil && of.change == change {
			f.passes = true
			return "it shares " + f.shared[from] + " with " + p.relative(f.name)
		}
	}
	return ""
}
