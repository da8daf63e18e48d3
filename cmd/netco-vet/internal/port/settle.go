package port

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

// settle makes the changes, and takes back those that do not compile, until the
// rest does. It returns the packages as they are then.
func (p *port) settle() ([]*packages.Package, error) {
	for {
		p.spread()
		if err := p.rewrite(); err != nil {
			return nil, err
		}
		overlay := map[string][]byte{}
		for _, f := range p.files {
			if f.after != nil {
				overlay[f.name] = f.after
			}
		}
		pkgs, err := p.load(overlay)
		if err != nil {
			return nil, err
		}
		wrong := load.Mistakes(pkgs, maps.Clone(p.known))
		if len(wrong) == 0 {
			return pkgs, p.collect(len(overlay) > 0)
		}
		if !p.takeBack(wrong) {
			return nil, fmt.Errorf("the port does not compile: %s:%d: %s", wrong[0].File,
				wrong[0].Line, wrong[0].Text)
		}
	}
}

// collect lists the changes, unless there are none.
func (p *port) collect(any bool) (err error) {
	if !any {
		return nil
	}
	if p.changes, err = p.modChanges(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if f := p.files[name]; f.after != nil {
			p.changes = append(p.changes, edit.Change{Name: name, Before: f.src, After: f.after})
		}
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
				goes.keep("it shares " + f.shared[from] + " with " + p.relative(stays.name))
				changed = true
			}
		}
	}
	for _, f := range p.files {
		if f.kept == "" || len(f.imports) == 0 {
			continue
		}
		for _, s := range f.statements {
			s.leave("the file stays on package net")
		}
	}
}

// takeBack takes changes back that lead to errors, and reports whether there
// were any to take back: of each error the smallest that may be its cause.
func (p *port) takeBack(wrong []load.Mistake) (changed bool) {
	for _, e := range wrong {
		changed = p.takeBackOne(e) || changed
	}
	if changed {
		return true
	}
	for _, e := range wrong { // all of a package
		for _, f := range p.files {
			if filepath.Dir(f.name) == filepath.Dir(e.File) {
				changed = p.untouched(f, e) || changed
			}
		}
	}
	if changed {
		return true
	}
	for _, f := range p.files {
		changed = p.untouched(f, wrong[0]) || changed
	}
	return changed
}

func (p *port) takeBackOne(e load.Mistake) bool {
	f := p.files[e.File]
	if f == nil {
		return false
	}
	why := "it would not compile: " + strings.Join(strings.Fields(e.Text), " ")
	for _, s := range f.statements {
		if s.made != nil && s.why == "" && s.made.Touches(f.after, e.Line) {
			s.leave(why)
			return true
		}
	}
	if len(f.imports) > 0 && !f.stays() {
		f.keep(why)
		return true
	}
	if !f.passes { // what it uses stays, if some of it does
		f.passes = true
		for from := range f.shared {
			if of := p.files[from]; of != nil && len(of.imports) > 0 && !of.stays() {
				return true
			}
		}
	}
	return false
}

// untouched takes back all changes of a file.
func (p *port) untouched(f *file, e load.Mistake) (changed bool) {
	why := "it would not compile: " + strings.Join(strings.Fields(e.Text), " ")
	if len(f.imports) > 0 && !f.stays() {
		f.keep(why)
		changed = true
	}
	for _, s := range f.statements {
		if s.why == "" {
			s.leave(why)
			changed = true
		}
	}
	return changed
}

// rewrite makes the new text of each file.
func (p *port) rewrite() error {
	for _, f := range p.files {
		f.after = nil
		if f.fixed != "" {
			continue
		}
		for f.rewrite() != nil {
			if !p.untouched(f, load.Mistake{Text: "it cannot be parsed"}) {
				return errors.New(f.name + " cannot be parsed")
			}
		}
	}
	return nil
}
