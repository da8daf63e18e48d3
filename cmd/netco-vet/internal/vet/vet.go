// Package vet finds in programs for netco what blocks a coroutine outside of
// netco, and what is lost by mistake. docs/VET.md lists the rules for users.
//
// One analyzer, find, does the work; each rule is an analyzer of its own that
// reports what find has found of it, so that rules can be turned off. find
// follows calls from the functions that run as coroutines. What a function of
// another package blocks in is a fact of that function (summary), so paths lead
// through dependencies.
//
// Only what is certain is followed: static calls, methods of known receivers,
// function literals and method values, variables, fields and interfaces that are
// assigned one function or one type only, and functions and values that are
// handed to a function that calls or starts them. Other calls by an interface or
// a function value are not.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const page = "https://github.com/netco-go/netco/blob/main/docs/VET.md#"

// find has all findings of a package for its result.
var find = &analysis.Analyzer{
	Name:       "netcofind",
	Doc:        "follow calls from functions that run as coroutines of netco",
	FactTypes:  []analysis.Fact{(*summary)(nil), (*limited)(nil)},
	ResultType: reflect.TypeFor[*result](),
	Run:        run,
}

// result is what find has found in a package.
type result struct {
	pkg   *pkg // nil for netco's packages and the standard library's
	found []diagnostic
}

// diagnostic is a finding of one of the rules.
type diagnostic struct {
	rule string
	analysis.Diagnostic
}

// rules are the names of the rules, with the first line of their documentation.
var rules = []struct{ name, doc string }{
	{"chan", "Go channel operations and select in coroutines"},
	{"lock", "sync.Mutex and sync.RWMutex held across a wait in coroutines"},
	{"sync", "sync.WaitGroup and sync.Cond in coroutines"},
	{"time", "time.Sleep, receives from package time's channels, and x/time's Limiter.Wait, " +
		"in coroutines"},
	{"done", "receives from a context's Done in coroutines"},
	{"net", "package net's connections, dials and look-ups in coroutines"},
	{"tls", "TLS over package net's connections in coroutines"},
	{"http", "net/http's clients and servers in coroutines"},
	{"sql", "database/sql in coroutines"},
	{"exec", "waits for processes in coroutines"},
	{"osthread", "runtime.LockOSThread in coroutines"},
	{"pull", "iter.Pull of sequences that wait, in coroutines"},
	{"gostmt", "go statements for what serves netco's connections"},
	{"assert", "assertions of package net's types on netco's connections"},
	{"starterr", "ignored errors of starting a coroutine"},
	{"flush", "waits while a socket.Buffered has something unsent"},
}

// Analyzers returns one analyzer for each rule.
func Analyzers() (all []*analysis.Analyzer) {
	for _, r := range rules {
		all = append(all, &analysis.Analyzer{
			Name:     r.name,
			Doc:      "report " + r.doc + "\n\nSee docs/VET.md.",
			URL:      page + r.name,
			Requires: []*analysis.Analyzer{find},
			Run: func(pass *analysis.Pass) (any, error) {
				for _, d := range pass.ResultOf[find].(*result).found {
					if d.rule == r.name {
						pass.Report(d.Diagnostic)
					}
				}
				return nil, nil
			},
		})
	}
	return all
}

func run(pass *analysis.Pass) (any, error) {
	if len(pass.Files) == 0 ||
		Known(pass.Pkg.Path(), pass.Fset.File(pass.Files[0].FileStart).Name()) {
		return &result{}, nil
	}
	p := newPkg(pass)
	p.collect()
	p.solve()
	p.export()
	p.report()
	p.others()
	p.noteLimit()
	p.ignoredStarts()
	slices.SortStableFunc(p.found, func(a, b diagnostic) int { return int(a.Pos - b.Pos) })
	return &result{p, p.found}, nil
}

// Known reports whether a package, of a file, is netco's or the standard
// library's: what these do is in tables, and they are not looked into.
func Known(path, file string) bool {
	if _, ok := library(path); ok {
		return true
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return false
	}
	src, ok := strings.CutSuffix(filepath.ToSlash(filepath.Dir(file)), "/"+path)
	if !ok {
		return false
	}
	_, err := os.Stat(filepath.Join(src, "runtime", "proc.go"))
	return err == nil
}

// allowed is the comment that says that a line is as it should be.
const allowed = "//netco-vet:ok"

// add notes a diagnostic, unless a comment on its line or the one above says
// that it is right there.
func (p *pkg) add(rule string, d analysis.Diagnostic) {
	if f := p.file(d.Pos); p.isAllowed(d.Pos) || f != nil && ast.IsGenerated(f) {
		return
	}
	d.Category = rule
	d.URL = page + rule
	p.found = append(p.found, diagnostic{rule, d})
}

// isAllowed reports whether such a comment stands there.
func (p *pkg) isAllowed(pos token.Pos) bool {
	posn := p.Fset.Position(pos)
	if p.allowed == nil {
		p.allowed = map[string]bool{}
		for _, f := range p.Files {
			for _, group := range f.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, allowed) {
						at := p.Fset.Position(c.Pos())
						p.allowed[place(at.Filename, at.Line)] = true
						p.allowed[place(at.Filename, at.Line+1)] = true
					}
				}
			}
		}
	}
	return p.allowed[place(posn.Filename, posn.Line)]
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }
