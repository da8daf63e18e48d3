// Package port ports a module to netco in place: imports of package net become
// netco/net's, and go statements that serve connections become calls of
// netco.Go. What it leaves it lists, with the reason.
//
// A port is a transaction. All of it is planned first, and the result is loaded
// and type-checked in memory: a file whose change does not compile stays, and so
// do the files that exchange values with it, until all compiles. Then all files
// are written together.
package port

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/netco-go/netco/cmd/netco-vet/internal/vet"
)

const module = "github.com/netco-go/netco"

// Options say what to port.
type Options struct {
	Dir      string   // the module's, or one in it
	Patterns []string // of packages, from Dir; all of the module's if there are none
	Netco    string   // a folder that has netco, or a version of it; "": the newest
	Tags     string   // for the build
	Dry      bool     // writes a diff instead
}

// Run ports a module. It writes what it did, and what is left, to report, and a
// dry run's diff to diff. left says whether there is anything left. With an
// error nothing is changed.
func Run(ctx context.Context, o Options, report, diff io.Writer) (left bool, err error) {
	p := &port{Options: o, ctx: ctx, fset: token.NewFileSet(), known: map[string]bool{},
		files: map[string]*file{}, broken: map[string]failure{}}
	if err := p.locate(); err != nil {
		return false, err
	}
	if p.temp, err = os.MkdirTemp("", "netco-vet-port-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(p.temp)
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		done <- p.prepare()
	}()
	select { // what is prepared is in memory, and in a temporary folder
	case err = <-done:
	case <-ctx.Done():
		err = errors.New("interrupted")
	}
	if err == nil {
		err = p.finish(diff)
	}
	if err != nil {
		return false, fmt.Errorf("nothing has been changed: %w", err)
	}
	return p.report(report), nil
}

// port is a port under way.
type port struct {
	Options
	ctx      context.Context
	root     string   // the module's folder
	goroot   string   // the folder with the standard library
	parsed   sync.Map // the standard library's files, by name
	temp     string   // a folder for go.mod and go.sum, as they are to be
	flags    []string // for the go command
	language string   // that the module states if it is older than netco's, or ""
	chosen   map[string]bool
	fset     *token.FileSet
	files    map[string]*file
	known    map[string]bool    // the errors before the port
	made     map[string]change  // the files as they are to be
	broken   map[string]failure // packages that do not load, by path
	changes  []change
	found    []string // what the rules report
	warnings []string
	foreign  []string // files that are built under other tags
}

// failure is why the package in a folder does not load.
type failure struct{ dir, why string }

// prepare plans the port, until what it makes compiles.
func (p *port) prepare() error {
	if err := p.require(); err != nil {
		return err
	}
	if err := p.choose(); err != nil {
		return err
	}
	if err := p.plan(); err != nil {
		return err
	}
	pkgs, err := p.settle()
	if err != nil {
		return err
	}
	return p.vet(pkgs)
}

// finish writes the changes, or their diff.
func (p *port) finish(out io.Writer) error {
	if !p.Dry {
		return writeAll(p.changes) // a signal does not end it: it takes no time
	}
	for _, c := range p.changes {
		if _, err := io.WriteString(out, c.diff(p.relative(c.name))); err != nil {
			return err
		}
	}
	return nil
}

// locate finds the folders of the module and the standard library.
func (p *port) locate() error {
	out, err := p.command(p.Dir, "go", "env", "GOMOD", "GOROOT")
	if err != nil {
		return err
	}
	name, goroot, _ := strings.Cut(strings.TrimSpace(out), "\n")
	p.goroot = filepath.Join(goroot, "src") + string(filepath.Separator)
	if name != "" && name != os.DevNull {
		p.root = filepath.Dir(name)
	} else {
		return fmt.Errorf("%s is in no module; make one by go mod init first", p.Dir)
	}
	vendored := filepath.Join(p.root, "vendor", "modules.txt")
	if _, err := os.Stat(vendored); err == nil {
		return fmt.Errorf("%s has the module's dependencies, and netco is not among them: remove "+
			"the folder vendor, port, and make it anew by go mod vendor", vendored)
	}
	return nil
}

// load loads the module with its tests, as the port makes it so far. Of the
// standard library it has the declarations, which is all that matters here and
// a fraction of the time; what is missing is no error.
func (p *port) load() ([]*packages.Package, error) {
	c := &packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule, Context: p.ctx, Dir: p.root, Fset: p.fset,
		BuildFlags: p.flags, Env: append(os.Environ(), "GOWORK=off"), Tests: true,
		Overlay: map[string][]byte{}, ParseFile: p.parse,
	}
	for name, change := range p.made {
		c.Overlay[name] = change.after
	}
	pkgs, err := packages.Load(c, "./...")
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if len(pkg.GoFiles) > 0 && p.isStandard(pkg.GoFiles[0]) {
			pkg.Errors = nil
		}
	})
	return pkgs, err
}

func (p *port) isStandard(file string) bool { return strings.HasPrefix(file, p.goroot) }

// parse parses a file for load, one of the standard library's once and without
// the bodies of functions.
func (p *port) parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	if !p.isStandard(name) {
		return parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments)
	}
	if f, ok := p.parsed.Load(name); ok {
		return f.(*ast.File), nil
	}
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
	p.parsed.Store(name, f)
	return f, nil
}

// own reports whether pkg is one of the module's, and not what go test makes for
// it.
func own(pkg *packages.Package) bool {
	return pkg.Module != nil && pkg.Module.Main && !strings.HasSuffix(pkg.ID, ".test")
}

// analyze runs analyzers over the packages that have no errors, and calls f for
// each one's result.
func analyze(pkgs []*packages.Package, as []*analysis.Analyzer, f func(*checker.Action)) error {
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		pkg.IllTyped = len(pkg.Errors) > 0 || pkg.Types == nil || pkg.TypesInfo == nil
		for path, of := range pkg.Imports {
			if len(of.Errors) > 0 || of.Types == nil || of.TypesInfo == nil {
				delete(pkg.Imports, path) // nothing is known of it
			}
		}
	})
	roots := slices.DeleteFunc(slices.Clone(pkgs), func(pkg *packages.Package) bool {
		return pkg.IllTyped || !own(pkg)
	})
	if len(roots) == 0 {
		return nil
	}
	graph, err := checker.Analyze(as, roots, nil)
	if err != nil {
		return err
	}
	for _, root := range graph.Roots {
		if root.Err != nil {
			return root.Err
		}
		f(root)
	}
	return nil
}

// vet notes what the rules report of the ported module, and what its tests see
// of netco.
func (p *port) vet(pkgs []*packages.Package) error {
	p.warn(pkgs)
	return analyze(pkgs, vet.Analyzers(), func(a *checker.Action) {
		for _, d := range a.Diagnostics {
			if !p.wanted(filepath.Dir(p.fset.PositionFor(d.Pos, false).Filename)) {
				continue
			}
			p.found = append(p.found, p.place(d.Pos)+": "+d.Message)
		}
	})
}

// place is a position, relative to the module.
func (p *port) place(pos token.Pos) string {
	at := p.fset.PositionFor(pos, false)
	return fmt.Sprintf("%s:%d", p.relative(at.Filename), at.Line)
}

// relative is a file's name as it is shown.
func (p *port) relative(name string) string {
	if rel, err := filepath.Rel(p.root, name); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}

// report writes what was done, and what is left.
func (p *port) report(out io.Writer) (left bool) {
	imports, statements := 0, 0
	var kept, goStatements, unedited []string
	for _, f := range p.files {
		for _, s := range f.statements {
			if s.left == "" {
				statements++
				continue
			}
			if f.fixed == "" {
				goStatements = append(goStatements, fmt.Sprintf("%s:%d: %s", p.relative(f.name),
					s.at.Line, s.left))
			}
		}
		switch {
		case f.fixed != "":
			if !f.relevant() {
				break
			}
			unedited = append(unedited, p.relative(f.name)+": "+f.fixed)
		case f.left != "" && len(f.imports) > 0:
			kept = append(kept, p.relative(f.name)+": "+f.left)
		case !f.both:
			imports += len(f.imports)
		}
	}
	verb := "changed"
	if p.Dry {
		verb = "to change"
	}
	fmt.Fprintf(out, "%d imports of net and %d go statements %s, in %d files\n", imports,
		statements, verb, len(p.made))
	if p.language != "" && len(p.changes) > 0 {
		fmt.Fprintf(out, "go.mod states Go %s instead of %s", language, p.language)
		if version.Compare("go"+p.language, "go1.22") < 0 {
			fmt.Fprint(out, ": each iteration of a loop has its own variables since 1.22")
		}
		fmt.Fprintln(out)
	}
	var broken []string
	for path, of := range p.broken {
		if p.wanted(of.dir) {
			broken = append(broken, path+": "+of.why)
		}
	}
	for _, s := range []struct {
		title string
		lines []string
	}{
		{"packages left, since they do not load", broken},
		{"files left as they are", unedited},
		{"files left, which are built under other tags (-tags)", p.foreign},
		{"files left on package net", kept},
		{"go statements left (lines before the port)", goStatements},
		{"tests to look at (docs/PORTING.md, Tests)", p.warnings},
		{"netco-vet reports (lines after the port)", p.found},
	} {
		if len(s.lines) == 0 {
			continue
		}
		left = true
		fmt.Fprintf(out, "\n%s:\n", s.title)
		slices.Sort(s.lines)
		for _, l := range slices.Compact(s.lines) {
			fmt.Fprintf(out, "\t%s\n", l)
		}
	}
	return left
}

// counting are the functions by which tests count goroutines, or ask for all of
// them; the last one is pion/transport's. Beside these there are packages that
// do.
var (
	counting = regexp.MustCompile(`^runtime\.(NumGoroutine|Stack)$|^runtime/pprof\.Lookup$|\.CheckRoutines$`)
	checkers = regexp.MustCompile(`(^|/)(goleak|leaktest|leakcheck)($|/)`)
)

// warn notes the tests that see netco's goroutines, and those in bubbles.
func (p *port) warn(pkgs []*packages.Package) {
	const counts = "counts netco's own goroutines"
	note := func(at ast.Node, what string) {
		name := p.fset.File(at.Pos()).Name()
		if strings.HasSuffix(name, "_test.go") && p.wanted(filepath.Dir(name)) {
			p.warnings = append(p.warnings, p.place(at.Pos())+": "+what)
		}
	}
	for _, pkg := range pkgs {
		if !own(pkg) {
			continue
		}
		for _, f := range pkg.Syntax {
			for _, spec := range f.Imports {
				switch path := importPath(spec); {
				case path == "testing/synctest":
					note(spec, "netco.Go starts nothing in a bubble of testing/synctest")
				case checkers.MatchString(path):
					note(spec, path+" "+counts)
				}
			}
		}
		for id, obj := range pkg.TypesInfo.Uses {
			if fn, ok := obj.(*types.Func); ok && counting.MatchString(fn.FullName()) {
				note(id, counts)
			}
		}
	}
}

// ported reports whether an import is one that a port changes.
func ported(spec *ast.ImportSpec) bool { return slices.Contains(vet.Ported, importPath(spec)) }
