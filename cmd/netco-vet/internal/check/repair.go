package check

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
	"github.com/netco-go/netco/cmd/netco-vet/internal/fix"
	"github.com/netco-go/netco/cmd/netco-vet/internal/load"
)

// maxRounds bounds how often what has been fixed is analyzed for more.
const maxRounds = 5

// repair makes the fixes of what the rules find, round by round, since a fix may
// make another one possible.
type repair struct {
	*run
	roots    []string // the folders of the modules that are edited
	ids      map[string]bool
	trial    fix.Trial
	made     []string          // what has been done, a line for each fix
	solved   int               // the reports that these were for
	withheld map[string]string // the fixes that are not made, with the reason
}

func (r *run) repair(dry bool) int {
	p := &repair{run: r, withheld: map[string]string{}}
	p.trial = fix.Trial{
		Load: p.all, Known: map[string]bool{}, Files: map[string]edit.Change{},
		Blame: []fix.Blame{fix.If(func(f *fix.Fix, m load.Mistake) bool { return f.Changes(m.File) })},
	}
	rest, notes, err := p.rounds()
	if err != nil {
		return r.fail(err)
	}
	var changes []edit.Change
	for _, name := range slices.Sorted(maps.Keys(p.trial.Files)) {
		changes = append(changes, p.trial.Files[name])
	}
	if dry {
		for _, c := range changes {
			fmt.Fprint(r.out, c.Diff(p.shown(c.Name)))
		}
	} else {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // it takes no time
		if err := edit.Write(changes); err != nil {
			return r.fail(err)
		}
	}
	return p.summarize(rest, notes, dry)
}

// summarize writes what was done and what is left.
func (p *repair) summarize(rest []found, notes []string, dry bool) int {
	for _, line := range p.made {
		fmt.Fprintln(p.err, line)
	}
	for _, f := range rest {
		fmt.Fprintf(p.err, "%s\n\tnot fixed: %s\n", f, p.reason(f))
	}
	for _, line := range notes {
		fmt.Fprintln(p.err, line)
	}
	would := ""
	if dry {
		would = "would be "
	}
	fmt.Fprintf(p.err, "netco-vet: %d reports %sfixed, in %d files; %d left\n", p.solved, would,
		len(p.trial.Files), len(rest))
	switch {
	case len(notes) > 0:
		return failed
	case len(rest) > 0:
		return left
	}
	return clean
}

// reason says why a finding is left.
func (p *repair) reason(f found) string {
	for _, c := range p.candidates([]found{f}) {
		if why := p.withheld[c.key]; why != "" {
			return why
		}
	}
	for _, r := range f.Related {
		if why, ok := strings.CutPrefix(r.Message, "no fix: "); ok {
			return why
		}
	}
	return "the rule " + f.Category + " has no fix for it"
}

// rounds analyzes and fixes until there is nothing more to fix. It returns what
// is left, and a line for each package that is not checked.
func (p *repair) rounds() (rest []found, notes []string, err error) {
	if err := p.locate(); err != nil {
		return nil, nil, err
	}
	pkgs, err := p.all(nil)
	if err != nil {
		return nil, nil, err
	}
	load.Mistakes(pkgs, p.trial.Known)
	for round := 0; ; round++ {
		var own []*packages.Package
		for _, pkg := range pkgs {
			if p.ids[pkg.ID] {
				own = append(own, pkg)
			}
		}
		graph, err := checker.Analyze(p.analyzers, own, nil)
		if err != nil {
			return nil, nil, err
		}
		if rest, err = findings(graph); err != nil {
			return nil, nil, err
		}
		notes = broken(own)
		if round == maxRounds {
			return rest, notes, nil
		}
		next, err := p.fix(rest)
		if err != nil {
			return nil, nil, err
		}
		if next == nil {
			return rest, notes, nil
		}
		pkgs = next
	}
}

// locate finds the packages that the patterns name, and their modules.
func (p *repair) locate() error {
	pkgs, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedModule | packages.NeedFiles,
		Tests: p.test, BuildFlags: p.loader.BuildFlags,
	}, p.patterns...)
	if err != nil {
		return err
	}
	p.ids = map[string]bool{}
	for _, pkg := range pkgs {
		p.ids[pkg.ID] = true
		if m := pkg.Module; m != nil && m.Main && m.Dir != "" && !slices.Contains(p.roots, m.Dir) {
			p.roots = append(p.roots, m.Dir)
		}
	}
	if len(p.roots) == 0 {
		return fmt.Errorf("%s: no package of a module that can be changed",
			strings.Join(p.patterns, " "))
	}
	return nil
}

// all loads the packages that the patterns name, and all others of their
// modules.
func (p *repair) all(overlay map[string][]byte) ([]*packages.Package, error) {
	patterns := slices.Clone(p.patterns)
	for _, root := range p.roots {
		patterns = append(patterns, filepath.Join(root, "..."))
	}
	return p.loader.Load(overlay, true, patterns...)
}

// candidate is a fix of something that is found.
type candidate struct {
	*fix.Fix
	key   string
	title string // what is done, with the place
	solve int    // the reports that it is for
}

// candidates are the fixes of what is found, each once.
func (p *repair) candidates(all []found) (list []*candidate) {
	index := map[string]*candidate{}
	for _, f := range all {
		if len(f.SuggestedFixes) == 0 {
			continue
		}
		of := f.SuggestedFixes[0]
		var same strings.Builder
		for _, e := range of.TextEdits {
			fmt.Fprintln(&same, f.pkg.Fset.PositionFor(e.Pos, false), e.End-e.Pos, string(e.NewText))
		}
		if has := index[same.String()]; has != nil {
			has.solve++
			continue
		}
		c := &candidate{
			Fix: fix.New(f.pkg, of.TextEdits), solve: 1,
			title: fmt.Sprintf("%s: fixed: %s", f.at, of.Message),
			key:   fmt.Sprintf("%s %s %s", f.at.Filename, of.Message, p.lineOf(f.at)),
		}
		index[same.String()] = c
		list = append(list, c)
	}
	return list
}

// lineOf is the text of a line, by which a fix is known when others have moved
// it.
func (p *repair) lineOf(at token.Position) string {
	src, err := p.trial.Files[at.Filename].After, error(nil)
	if src == nil {
		src, err = os.ReadFile(at.Filename)
	}
	lines := bytes.Split(src, []byte("\n"))
	if err != nil || at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	return string(bytes.TrimSpace(lines[at.Line-1]))
}

// fix makes what fixes of all compile together. It returns the packages as they
// are then, nil if there is nothing to fix.
func (p *repair) fix(all []found) ([]*packages.Package, error) {
	var chosen []*fix.Fix
	some := false
	candidates := p.candidates(all)
	for _, c := range candidates {
		if c.Why = p.withheld[c.key]; c.Why == "" {
			c.Why = p.unfit(c)
		}
		if chosen = append(chosen, c.Fix); c.Why == "" {
			some = true
		}
	}
	if !some {
		return nil, nil
	}
	made, pkgs, err := p.trial.Make(chosen, "") // a later round has those that overlap
	if err != nil || len(made) == 0 {
		pkgs = nil
	}
	for _, c := range candidates {
		if c.Why != "" {
			p.withheld[c.key] = c.Why
		} else if slices.Contains(made, c.Fix) {
			p.made = append(p.made, c.title)
			p.solved += c.solve
		}
	}
	return pkgs, err
}

// unfit returns why a fix must not be made, or "".
func (p *repair) unfit(c *candidate) string {
	if m := c.Pkg.Module; m == nil || !m.Main {
		return "its package is not of this module"
	}
	for _, name := range slices.Sorted(maps.Keys(c.Edits)) {
		i := slices.IndexFunc(c.Pkg.Syntax, func(f *ast.File) bool {
			return c.Pkg.Fset.File(f.FileStart).Name() == name
		})
		why := edit.Fixed(c.Pkg.Module.Dir, name)
		switch {
		case why != "":
		case i < 0:
			why = "a tool such as cgo writes what is compiled of it"
		case ast.IsGenerated(c.Pkg.Syntax[i]):
			why = "it is generated"
		case c.Pkg.Fset.Position(c.Pkg.Syntax[i].Package).Filename != name:
			why = "a tool wrote it, as its line directives say"
		}
		if why != "" {
			return fmt.Sprintf("it changes %s, and %s", p.shown(name), why)
		}
	}
	return ""
}

func (p *repair) shown(name string) string {
	for _, root := range p.roots {
		if rel := load.Relative(root, name); rel != name {
			return rel
		}
	}
	return name
}
