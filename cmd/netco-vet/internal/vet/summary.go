package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/objectpath"
)

// summary is what callers in other packages need to know of a function.
type summary struct {
	Causes []cause // what it may block in
	Waits  string  // a wait of netco's that it may do, or ""
	Calls  []param // the parameters that it calls before it returns
	Starts []int   // the parameters that it runs as coroutines
	Fields []fieldCall
	Result *summary // of the function that it returns, if that is known
}

// param is a parameter, by its index, that is called, or of which a method is.
type param struct {
	Index  int
	Method string
}

func (*summary) AFact() {}

func (s *summary) String() string {
	var parts []string
	for _, c := range s.Causes {
		parts = append(parts, c.Rule)
	}
	for _, part := range []struct {
		name string
		has  bool
	}{
		{"waits", s.Waits != ""}, {"calls", len(s.Calls) > 0}, {"starts", len(s.Starts) > 0},
		{"fields", len(s.Fields) > 0},
	} {
		if part.has {
			parts = append(parts, part.name)
		}
	}
	if s.Result != nil {
		parts = append(parts, "returns("+s.Result.String()+")")
	}
	return strings.Join(parts, ",")
}

// cause is one thing that a function may block in.
type cause struct {
	Rule, What, Cure string
	Posn             string   // "file.go:12"
	Path             []string // the functions from this one's callee to the place
}

// maxCauses bounds a summary: one of each rule is enough to act on, and a
// dependency may have hundreds.
const maxCauses = 8

// node is a function of this package, or a function literal.
type node struct {
	fn     *types.Func // nil for a literal
	name   string
	params []*types.Var
	body   *ast.BlockStmt

	events []event
	calls  []call // before it returns, deferred ones too
	starts []start
	spawns []start // those that are coroutines if this one runs in one

	pending []*handed // what its calls hand over

	called  map[indirect]token.Pos // what it calls by variables, and where; or its callees do
	started map[*types.Var]bool    // those that it runs as coroutines
	waits   string
	causes  []cause
	foreign bool              // another package's: it has causes only
	via     map[indirect]bool // of called, those that are calls, too
}

// event is a finding at a place in a node.
type event struct {
	finding
	pos, end token.Pos
	fix      fixer // or nil
}

// fixer returns the fixes of a finding, or why there is none.
type fixer func() (fixes []analysis.SuggestedFix, why string)

// call is a static call of a function of this package (to), or of another one
// (fn).
type call struct {
	to       *node
	fn       *types.Func
	pos, end token.Pos
	held     []held     // the locks held
	unsent   *types.Var // a Buffered with something unsent, or nil
	parks    string     // what it does that parks, where its arguments decide; or ""
	pulled   bool       // iter.Pull makes it, on a goroutine
}

// held is a lock of package sync that is held.
type held struct {
	name string // as the source has it
	typ  string // Mutex or RWMutex
}

// start is a coroutine.
type start struct {
	to  *node
	fn  *types.Func
	pos token.Pos
}

// pkg is one package while it is looked at.
type pkg struct {
	*analysis.Pass
	nodes   []*node
	decls   map[*types.Func]*node
	lits    map[*ast.FuncLit]*node
	values  map[*types.Var]*values
	parents map[ast.Node]ast.Node
	found   []diagnostic
	allowed map[string]bool
	limited bool // it sets MaxCoroutines
	reached map[*node]bool
	imports map[string]fixer             // those of whole packages, by import
	taken   map[ast.Node]map[string]bool // names, by declaration

	imported map[string]*types.Package // once they are needed
	foreign  map[*types.Func]*node     // what functions of other packages return
	paths    objectpath.Encoder

	reassigned map[*types.Var]bool     // variables that are assigned after they were declared
	served     map[*types.Var]ast.Expr // connections that handlers are given: their listeners
}

func newPkg(pass *analysis.Pass) *pkg {
	return &pkg{
		Pass: pass, decls: map[*types.Func]*node{}, lits: map[*ast.FuncLit]*node{},
		reached: map[*node]bool{}, foreign: map[*types.Func]*node{},
		imports: map[string]fixer{}, taken: map[ast.Node]map[string]bool{},
	}
}

// collect walks all functions.
func (p *pkg) collect() {
	p.link()
	p.values = p.collectValues()
	root := p.node(nil, "init", nil, nil) // what initialises the package's variables
	for _, f := range p.Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if fn, ok := p.TypesInfo.Defs[d.Name].(*types.Func); ok {
					p.decls[fn] = p.node(fn, shortName(fn), fn.Type().(*types.Signature), d.Body)
				}
			}
		}
	}
	for _, f := range p.Files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if fn, ok := p.TypesInfo.Defs[d.Name].(*types.Func); ok && d.Body != nil {
					p.walk(p.decls[fn])
				}
			case *ast.GenDecl:
				w := &walker{p, root}
				ast.Inspect(d, w.visit)
				w.callsIn(d, newState())
			}
		}
	}
}

// link notes each syntax node's parent.
func (p *pkg) link() {
	p.parents = map[ast.Node]ast.Node{}
	for _, f := range p.Files {
		var stack []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				p.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			return true
		})
	}
}

// declOf returns the declaration around a node.
func (p *pkg) declOf(x ast.Node) ast.Node {
	for {
		up := p.parents[x]
		if _, ok := up.(*ast.File); ok || up == nil {
			return x
		}
		x = up
	}
}

// holds reports whether x stands in outer.
func holds(outer, x ast.Node) bool { return outer.Pos() <= x.Pos() && x.End() <= outer.End() }

func (p *pkg) node(fn *types.Func, name string, sig *types.Signature, body *ast.BlockStmt) *node {
	n := &node{
		fn: fn, name: name, body: body,
		called: map[indirect]token.Pos{}, started: map[*types.Var]bool{}, via: map[indirect]bool{},
	}
	if sig != nil {
		n.params = slices.Collect(sig.Params().Variables())
	}
	p.nodes = append(p.nodes, n)
	return n
}

// literal returns the node of a function literal, which it walks the first
// time.
func (p *pkg) literal(lit *ast.FuncLit) *node {
	if n := p.lits[lit]; n != nil {
		return n
	}
	sig, _ := p.TypesInfo.TypeOf(lit).(*types.Signature)
	n := p.node(nil, "func at "+p.posn(lit.Pos()), sig, lit.Body)
	p.lits[lit] = n
	p.walk(n)
	return n
}

func (p *pkg) walk(n *node) { (&walker{p, n}).body() }

func (p *pkg) posn(pos token.Pos) string {
	at := p.Fset.Position(pos)
	return place(filepath.Base(at.Filename), at.Line)
}

// summaryOf returns what is known of another package's function.
func (p *pkg) summaryOf(fn *types.Func) (s summary) {
	if fn.Pkg() == p.Pkg || fn.Pkg() == nil {
		return s
	}
	if f := waits(fn); f != "" {
		s.Waits = f
	}
	key := funcKey(fn)
	if i, ok := startArgs[key]; ok {
		s.Starts = []int{i}
	}
	if i, ok := callArgs[key]; ok {
		s.Calls = []param{{Index: i}}
	}
	if callers[fn.Pkg().Path()] {
		for i := range fn.Type().(*types.Signature).Params().Len() {
			s.Calls = append(s.Calls, param{Index: i})
		}
	}
	if s.Waits == "" && s.Starts == nil && s.Calls == nil {
		p.ImportObjectFact(fn, &s)
	}
	return s
}

// solve finds what each function waits for and blocks in, and which parameters
// it calls and starts, until nothing changes.
func (p *pkg) solve() {
	for changed := true; changed; {
		changed = false
		for _, n := range p.nodes {
			changed = p.step(n) || changed
			changed = p.handOver(n) || changed
		}
	}
	for _, n := range p.nodes { // once the waits are known
		for _, c := range n.calls {
			p.acrossWait(n, c)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, n := range p.nodes {
			changed = p.gather(n) || changed
		}
	}
}

// step passes on what n's callees wait for, call and start.
func (p *pkg) step(n *node) (changed bool) {
	start := func(v *types.Var) {
		changed = changed || !n.started[v]
		n.started[v] = true
	}
	for _, c := range n.calls {
		waits := p.waitsOf(c)
		if waits != "" && n.waits == "" {
			n.waits, changed = waits, true
		}
		if c.to != nil {
			for t := range c.to.called {
				if _, ok := n.called[t]; !ok && !p.decides(c.to, t.v) {
					n.called[t], changed = token.NoPos, true
				}
			}
			for v := range c.to.started {
				start(v)
			}
		}
	}
	for _, s := range n.starts {
		if s.to != nil {
			for t := range s.to.called {
				if t.method == "" {
					start(t.v)
				}
			}
			for v := range s.to.started {
				start(v)
			}
		}
	}
	return p.viaVariables(n) || changed
}

func (p *pkg) waitsOf(c call) string {
	switch {
	case c.parks != "":
		return c.parks
	case c.to != nil:
		return c.to.waits
	}
	return p.summaryOf(c.fn).Waits
}

// acrossWait notes what must not be held across a wait.
func (p *pkg) acrossWait(n *node, c call) {
	what := p.waitsOf(c)
	if what == "" {
		return
	}
	for _, h := range c.held {
		n.events = append(n.events, event{
			finding: finding{"lock", "sync." + h.typ + " " + h.name + " held across " + what,
				"import netco/sync"},
			pos: c.pos, end: c.end, fix: p.importFix("sync"),
		})
	}
	if c.pulled {
		n.events = append(n.events, event{
			finding: finding{"pull", "iter.Pull of a sequence that does " + what,
				"range over the sequence, or make it a fiber.New"},
			pos: c.pos, end: c.end,
		})
	}
	if c.unsent != nil {
		n.events = append(n.events, event{
			finding: unsentAcross(c.unsent, what), pos: c.pos, end: c.end,
		})
	}
}

// gather makes n's causes of its events and its callees' causes. It keeps one
// of each rule and text, those that stand nearest.
func (p *pkg) gather(n *node) (changed bool) {
	add := func(c cause) {
		same := func(has cause) bool { return has.Rule == c.Rule && has.What == c.What }
		if len(n.causes) == maxCauses || len(c.Path) > 20 || slices.ContainsFunc(n.causes, same) {
			return
		}
		n.causes, changed = append(n.causes, c), true
	}
	for _, e := range n.events {
		if posn := p.Fset.Position(e.pos); !anywhere[e.rule] && e.rule != "flush" {
			add(cause{e.rule, e.what, e.cure, place(filepath.Base(posn.Filename), posn.Line), nil})
		}
	}
	for _, c := range n.calls {
		for _, k := range p.causesOf(c.to, c.fn) {
			k.Path = append([]string{p.nameOf(c.to, c.fn)}, k.Path...)
			add(k)
		}
	}
	return changed
}

func (p *pkg) causesOf(to *node, fn *types.Func) []cause {
	if to != nil {
		return to.causes
	}
	return p.summaryOf(fn).Causes
}

func (p *pkg) nameOf(to *node, fn *types.Func) string {
	if to != nil {
		return to.name
	}
	return fn.Pkg().Name() + "." + shortName(fn)
}

// export makes facts of the summaries.
func (p *pkg) export() {
	for fn, n := range p.decls {
		s := &summary{Causes: n.causes, Waits: n.waits, Fields: p.fields(n)}
		for i, v := range n.params {
			for t := range n.called {
				if t.v == v {
					s.Calls = append(s.Calls, param{i, t.method})
				}
			}
			if n.started[v] {
				s.Starts = append(s.Starts, i)
			}
		}
		slices.SortFunc(s.Calls, func(a, b param) int {
			return cmp.Or(a.Index-b.Index, cmp.Compare(a.Method, b.Method))
		})
		if to := p.result(n); to != nil {
			if r := (summary{Causes: to.causes, Waits: to.waits, Fields: p.fields(to)}); r.String() != "" {
				s.Result = &r
			}
		}
		if s.String() != "" {
			p.ExportObjectFact(fn, s)
		}
	}
}
