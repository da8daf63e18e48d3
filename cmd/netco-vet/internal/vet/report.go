package vet

import (
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// reach is how a function of this package is reached from a coroutine.
type reach struct {
	n    *node
	from *reach
	root token.Pos // where the coroutine is started
}

// path names the functions from the coroutine to r, and then more.
func (r *reach) path(p *pkg, more ...string) string {
	var names []string
	root := r.root
	for ; r != nil && r.n != nil; r = r.from {
		if r.from != nil || r.n.fn != nil { // a literal is where it is started
			names = append([]string{r.n.name}, names...)
		}
	}
	names = append([]string{"coroutine started at " + p.posn(root)}, names...)
	return strings.Join(append(names, more...), " → ")
}

// report follows calls from all coroutines that this package starts, breadth
// first, so that the shortest path is the one reported.
func (p *pkg) report() {
	type foreign struct {
		pos  token.Pos
		rule string
	}
	seen := map[foreign]bool{}
	outside := func(from *reach, at call) {
		for _, k := range p.causesOf(at.to, at.fn) {
			if seen[foreign{at.pos, k.Rule}] {
				continue
			}
			seen[foreign{at.pos, k.Rule}] = true
			if at.fn == nil || !p.ours(at.fn.Pkg().Path(), k) {
				k.Cure = "if it is not rare, " + cureBlocking
			}
			more := append([]string{p.nameOf(at.to, at.fn)}, k.Path...)
			p.addFinding(finding{k.Rule, k.What, k.Cure}, at.pos, at.end,
				from.path(p, append(more, k.Posn)...), no("the place is in another package"))
		}
	}
	var queue []*reach
	push := func(r *reach) {
		if !p.reached[r.n] {
			p.reached[r.n] = true
			queue = append(queue, r)
		}
	}
	begin := func(starts []start) {
		for _, s := range starts {
			if s.to != nil && !s.to.foreign {
				push(&reach{n: s.to, root: s.pos})
			} else {
				outside(&reach{root: s.pos}, call{to: s.to, fn: s.fn, pos: s.pos, end: s.pos})
			}
		}
	}
	for _, n := range p.nodes {
		begin(n.starts)
	}
	for len(queue) > 0 {
		r := queue[0]
		queue = queue[1:]
		for _, e := range r.n.events {
			if !anywhere[e.rule] {
				p.addFinding(e.finding, e.pos, e.end, r.path(p), e.fix)
			}
		}
		begin(r.n.spawns)
		for _, c := range r.n.calls {
			if c.to != nil && !c.to.foreign {
				push(&reach{n: c.to, from: r, root: r.root})
			} else {
				outside(r, c)
			}
		}
	}
}

// ours reports whether a cause in a function of the package path can be cured
// there: if the package is one of this module.
func (p *pkg) ours(path string, k cause) bool {
	if k.Cure == cureBlocking || k.Rule == "http" || p.Module == nil || p.Module.Path == "" {
		return true
	}
	return path == p.Module.Path || strings.HasPrefix(path, p.Module.Path+"/")
}

// anywhere are the rules for what is a mistake outside of coroutines, too, and
// is none of a caller's.
var anywhere = map[string]bool{"starterr": true, "gostmt": true, "assert": true}

// others reports these.
func (p *pkg) others() {
	for _, n := range p.nodes {
		for _, e := range n.events {
			if anywhere[e.rule] && e.rule != "starterr" {
				d := analysis.Diagnostic{Pos: e.pos, End: e.end, Message: e.what + "; " + e.cure}
				e.fix.suggest(&d)
				p.add(e.rule, d)
			}
		}
	}
}

// happens is what a rule's mistake costs. A coroutine that blocks outside of
// netco is handed on, so nothing hangs but where Processors are not.
var happens = map[string]string{
	"lock":     "another coroutine that wants the lock blocks its Processor",
	"sync":     blocked,
	"osthread": "Go ends the program at the next wait, yield or end of this coroutine",
	"pull":     "the wait is a goroutine's, blocks the Processor, and Stop does not reach it",
	"flush":    "the peer waits for it meanwhile",
}

const blocked = "its Processor's other coroutines wait up to 10 ms, until they are handed on"

func (p *pkg) addFinding(f finding, pos, end token.Pos, path string, fix fixer) {
	cost, ok := happens[f.rule]
	if !ok {
		cost = blocked
	}
	what := f.what + " in a coroutine: " + cost
	if strings.HasSuffix(f.what, "Go") && f.rule == "sync" {
		what = f.what + " in a coroutine: it starts a goroutine, not a coroutine"
	}
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s; %s (%s)", what, f.cure, path),
	}
	if fix == nil && f.cure == cureBlocking {
		fix = no("what is to happen with the result is yours to write")
	}
	fix.suggest(&d)
	p.add(f.rule, d)
}
