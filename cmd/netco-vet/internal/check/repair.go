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

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/edit"
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
	known    map[string]bool        // the errors before anything is fixed
	sources  map[string]edit.Change // the files that are changed
	made     []string               // what has been done, a line for each fix
	solved   int                    // the reports that these were for
	tried    map[string]edit.Change // sources of the last trial
	withheld map[string]string      // the fixes that are not made, with the reason
}

func (r *run) repair(dry bool) int {
	p := &repair{run: r, known: map[string]bool{}, sources: map[string]edit.Change{},
		withheld: map[string]string{}}
	rest, notes, err := p.rounds()
	if err != nil {
		return r.fail(err)
	}
	var changes []edit.Change
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		changes = append(changes, p.sources[name])
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
		len(p.sources), len(rest))
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
	pkgs, err := p.all()
	if err != nil {
		return nil, nil, err
	}
	load.Mistakes(pkgs, p.known)
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
// modules, as they are with what has been changed.
func (p *repair) all() ([]*packages.Package, error) {
	overlay := map[string][]byte{}
	for name, f := range p.sources {
		overlay[name] = f.After
	}
	patterns := slices.Clone(p.patterns)
	for _, root := range p.roots {
		patterns = append(patterns, filepath.Join(root, "..."))
	}
	return p.loader.Load(overlay, true, patterns...)
}

// candidate is a fix.
type candidate struct {
	key   string
	title string                  // what is done, with the place
	solve int                     // the reports that it is for
	edits map[string][]*edit.Edit // by file
	pkg   *packages.Package
}

// candidates are the fixes of what is found, each once.
func (p *repair) candidates(all []found) (list []*candidate) {
	index := map[string]*candidate{}
	for _, f := range all {
		if len(f.SuggestedFixes) == 0 {
			continue
		}
		fix := f.SuggestedFixes[0]
		c := &candidate{pkg: f.pkg, solve: 1, edits: map[string][]*edit.Edit{}}
		var same strings.Builder
		for _, e := range fix.TextEdits {
			at, end := span(f.pkg.Fset, e)
			c.edits[at.Filename] = append(c.edits[at.Filename],
				&edit.Edit{From: at.Offset, To: end.Offset, Text: string(e.NewText)})
			fmt.Fprintln(&same, at, end, string(e.NewText))
		}
		if has := index[same.String()]; has != nil {
			has.solve++
			continue
		}
		c.title = fmt.Sprintf("%s: fixed: %s", f.at, fix.Message)
		c.key = fmt.Sprintf("%s %s %s", f.at.Filename, fix.Message, p.lineOf(f.at))
		index[same.String()] = c
		list = append(list, c)
	}
	return list
}

func span(fset *token.FileSet, e analysis.TextEdit) (at, end token.Position) {
	at = fset.PositionFor(e.Pos, false)
	if end = at; e.End.IsValid() {
		end = fset.PositionFor(e.End, false)
	}
	return at, end
}

// lineOf is the text of a line, by which a fix is known when others have moved
// it.
func (p *repair) lineOf(at token.Position) string {
	src, err := p.read(at.Filename)
	lines := bytes.Split(src, []byte("\n"))
	if err != nil || at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	return string(bytes.TrimSpace(lines[at.Line-1]))
}

func (p *repair) read(name string) ([]byte, error) {
	if f, ok := p.sources[name]; ok {
		return f.After, nil
	}
	return os.ReadFile(name)
}

// fix makes what fixes of all compile together. It returns the packages as they
// are then, nil if there is nothing to fix.
func (p *repair) fix(all []found) ([]*packages.Package, error) {
	var chosen []*candidate
	taken := map[string][]*edit.Edit{}
	for _, c := range p.candidates(all) {
		if p.withheld[c.key] != "" {
			continue
		}
		if why := p.unfit(c); why != "" {
			p.withheld[c.key] = why
			continue
		}
		if !overlaps(c, taken) { // a later round has the others
			chosen = append(chosen, c)
			for name, edits := range c.edits {
				taken[name] = append(taken[name], edits...)
			}
		}
	}
	before := p.sources
	unused := map[string][]string{} // imports that are to go, by file
	for len(chosen) > 0 {
		trial, name, err := p.apply(before, chosen, unused)
		if name != "" {
			chosen = p.withhold(chosen, []load.Mistake{{File: name, Text: err.Error()}})
			clear(unused)
			continue
		}
		if err != nil {
			return nil, err
		}
		p.sources, p.tried = trial, trial
		next, err := p.all()
		if err != nil {
			return nil, err
		}
		errs := load.Mistakes(next, maps.Clone(p.known))
		if len(errs) == 0 {
			for _, c := range chosen {
				p.made = append(p.made, c.title)
				p.solved += c.solve
			}
			return next, nil
		}
		p.sources = before
		if p.dropImports(errs, chosen, unused) {
			continue
		}
		chosen = p.withhold(chosen, errs)
		clear(unused)
	}
	p.sources = before
	return nil, nil
}

// unfit returns why a fix must not be made, or "".
func (p *repair) unfit(c *candidate) string {
	if m := c.pkg.Module; m == nil || !m.Main {
		return "its package is not of this module"
	}
	for _, name := range slices.Sorted(maps.Keys(c.edits)) {
		i := slices.IndexFunc(c.pkg.Syntax, func(f *ast.File) bool {
			return c.pkg.Fset.File(f.FileStart).Name() == name
		})
		why := edit.Fixed(c.pkg.Module.Dir, name)
		switch {
		case why != "":
		case i < 0:
			why = "a tool such as cgo writes what is compiled of it"
		case ast.IsGenerated(c.pkg.Syntax[i]):
			why = "it is generated"
		case c.pkg.Fset.Position(c.pkg.Syntax[i].Package).Filename != name:
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

// overlaps reports whether a fix changes what another one does, in another way.
func overlaps(c *candidate, taken map[string][]*edit.Edit) bool {
	for name, edits := range c.edits {
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
