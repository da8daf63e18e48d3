package vet

import (
	"os"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// all runs every rule as one analyzer, with find's facts, as analysistest has
// one. Fixes are those of files that have a golden one beside them.
var all = &analysis.Analyzer{
	Name: "netco", Doc: "all rules", FactTypes: find.FactTypes, Requires: find.Requires,
	Run: func(pass *analysis.Pass) (any, error) {
		found, err := run(pass)
		if err != nil {
			return nil, err
		}
		for _, d := range found.(*result).found {
			if _, err := os.Stat(pass.Fset.Position(d.Pos).Filename + ".golden"); err != nil {
				d.SuggestedFixes = nil
			}
			pass.Report(d.Diagnostic)
		}
		return nil, nil
	},
}

// TestRules has a package for each kind of rule. What is expected of it stands
// in its comments, and what fixes make of it in golden files. They are loaded
// together, with the standard library, which is what takes the time.
func TestRules(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), all, "dep", "calls", "chans",
		"flushes", "pulls", "defaults", "behind", "starts", "limits", "limiters", "locks", "times", "nets",
		"handlers", "chat", "waits", "groups", "clients", "plain", "asserts")
}

// TestValid: go vet's own rules for analyzers.
func TestValid(t *testing.T) {
	if err := analysis.Validate(Analyzers()); err != nil {
		t.Fatal(err)
	}
}
